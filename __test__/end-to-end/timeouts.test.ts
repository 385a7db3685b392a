import test from 'ava';
import { LocalLauncher } from '../../src/launchers/local.js';
import { Server } from '../../src/run/server.js';
import { Driver } from './driver.js';
import { gone, line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const LATE = 'A late answer after a time-out is counted twice';
const LONG = 'A long time-out becomes 1 ms';

for (const [stuck, launcher] of [
	['hang', undefined],
	['never', undefined],
	['hang', new LocalLauncher({ wrap: ['sh', '-c', '"$@"; exit $?', 'sh'] })],
] as const) {
	const where = launcher ? `${stuck}, behind a shell` : stuck;
	test(`a block that never returns (${where}) times out: its process is killed, it is retried, then failed`, async (t) => {
		const scratch = new Scratch(t);
		const options = { timeoutMs: 300, maxRetries: 1, ...(launcher && { launcher }) };
		const task = line(scratch, 3, { 1: { do: stuck } }, options);
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed, state!.timeouts], [2, 1, 2]);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1 });
		t.regex(state!.failures[0]!.message, /ran longer than its timeout of 0\.3 s/);
		await gone(scratch.pids());
	});
}

for (const [name, deed, settings, summary, abandonment] of [
	[
		'the default',
		{ do: 'kill' },
		// told as the end that a worker's own clock brings it, without waiting for that
		{ exitsAs: 87 },
		"2 block attempt(s) of task 'line' ran past the default timeoutMs of 600000; raise timeoutMs for slow blocks",
		'2 attempts exceeded timeoutMs (600000, the default).',
	],
	[
		"the task's own",
		{ do: 'hang' },
		{ task: { timeoutMs: 300 } },
		"2 block attempt(s) of task 'line' ran past timeoutMs: 300; raise timeoutMs for slow blocks",
		'2 attempts exceeded timeoutMs (300).',
	],
] as const) {
	test(`summary and abandonment say how many attempts timed out, and that the value was ${name}`, async (t) => {
		const scratch = new Scratch(t);
		const driver = new Driver(t, scratch, {
			blocks: 1,
			deeds: { 0: deed },
			...settings,
			task: { ...settings.task, maxWorkerRestarts: 1 },
		});
		t.is(await driver.ended(), 1);
		t.true(driver.out.includes(summary), driver.out);
		t.regex(driver.err, /ERR_BELLIS_ABANDONED/);
		t.true(driver.err.includes(abandonment), driver.err);
	});
}

test(`${LONG}: a timeout of many days is no timeout of a millisecond`, async (t) => {
	const warnings: Error[] = [];
	const onWarning = (warning: Error) => warnings.push(warning);
	process.on('warning', onWarning);
	t.teardown(() => process.off('warning', onWarning));
	for (const timeoutMs of [30 * 24 * 3600 * 1000, Number.MAX_SAFE_INTEGER]) {
		const scratch = new Scratch(t);
		const task = line(scratch, 1, { 0: { do: 'sleep', ms: 50 } }, { timeoutMs });
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.timeouts], [1, 0]);
		t.is(scratch.lines().length, 1);
	}
	t.deepEqual(
		warnings.filter(({ name }) => name === 'TimeoutOverflowWarning'),
		[],
	);
});

test.serial(`${LONG}: a clock that is set back an hour changes nothing`, async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const now = Date.now;
	t.teardown(() => {
		Date.now = now;
	});
	const task = line(scratch, 2, { 0: { do: 'gate', file } }, { timeoutMs: 60_000 });
	const run = new Server().runBlockwise(task, scratch.quiet);
	await scratch.made('gate.waits.0');
	Date.now = () => now() - 3_600_000;
	scratch.open('gate');
	const { line: state } = await run;
	t.deepEqual([state!.completed, state!.timeouts, state!.failedAttempts], [2, 0, 0]);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1 });
});

test(`${LATE}: a worker that is stopped and then continued answers too late, and nothing is counted twice`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 3, { 1: { do: 'stop', once: true } }, { maxWorkers: 2 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 3);
	t.is(scratch.callsOf()[1], 2);
	await gone(scratch.pids());
});
