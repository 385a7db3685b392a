import test, { type ExecutionContext } from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Driver } from './driver.js';
import { gone, line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const LAUNCHER = 'Killing the launcher does not kill the worker';
const TWICE = 'Ctrl-C arrives twice, or at the workers before the driver';

/** A driver with 20 blocks on 4 workers: 8 pass, the others wait at a gate. */
function halfway(t: ExecutionContext, more: Record<string, unknown> = {}) {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const deeds = Object.fromEntries(
		Array.from({ length: 12 }, (_, i) => [i + 8, { do: 'gate', file }]),
	);
	const driver = new Driver(t, scratch, {
		blocks: 20,
		deeds,
		task: { maxWorkers: 4 },
		...more,
		run: { shutdownGraceMs: 0, ...(more.run as object) },
	});
	// which of them the workers get to is theirs to say
	const waiting = scratch.madeLike(/^gate\.waits\./, 4);
	return { scratch, driver, waiting };
}

for (const [signal, code] of [
	['SIGINT', 130],
	['SIGTERM', 143],
	['SIGHUP', 129],
] as const) {
	test(`${TWICE}: ${signal} to the whole group: one summary, the interrupt error, what finished is marked`, async (t) => {
		const { scratch, driver, waiting } = halfway(t, { before: true });
		await waiting;
		driver.signalGroup(signal);
		driver.signalGroup(signal);
		t.is(await driver.ended(), code);
		t.regex(driver.out, new RegExp(`rejected ERR_BELLIS_INTERRUPTED ${signal} ${code}`));
		t.is(driver.out.split('Execution Summary').length, 2);
		t.notRegex(driver.out, /earlier listener/);
		t.regex(driver.out, /listeners back: true/);
		t.regex(driver.out, /line …\s+20\s+8\s+0\s+0\s+0/);
		await gone(scratch.pids());

		// no attempt was lost, nobody was started again, and a rerun does exactly the rest
		t.is(scratch.pids().length, 4);
		t.is(scratch.lines().length, 12);
		scratch.open('gate');
		const states = await runBlockwise(line(scratch, 20, {}, { maxWorkers: 2 }), {
			...scratch.quiet,
			trackingDir: scratch.path('stores'),
			returnStates: true,
		});
		t.deepEqual([states.line!.completed, states.line!.skipped], [20, 8]);
		t.is(scratch.lines().length, 24);
	});
}

test("Workers that get the group's SIGINT lose no try: blocks that finish within the grace are marked", async (t) => {
	const scratch = new Scratch(t);
	// A gate for each, so that what waits in a worker's hands behind an open one isn't run in no time.
	const deeds = Object.fromEntries(
		Array.from({ length: 12 }, (_, i) => [
			i + 8,
			{ do: 'gate', file: scratch.path(`gate-${i + 8}`) },
		]),
	);
	const more = { task: { maxWorkers: 4 }, run: { shutdownGraceMs: 60_000 } };
	const driver = new Driver(t, scratch, { blocks: 20, deeds, ...more });
	await scratch.madeLike(/^gate-\d+\.waits\./, 4);
	driver.signalGroup('SIGINT');
	await driver.stopping();
	const ended = driver.ended();
	const watching = scratch.openAsAsked(ended);
	t.is(await ended, 130);
	await watching;
	// A worker that hears of the end only after its block begins another one, which then has to count too.
	const ran = scratch.lines().length;
	t.true(ran >= 12, `${ran}`);
	t.regex(driver.out, new RegExp(`line …\\s+20\\s+${ran}\\s+0\\s+0\\s+0`));
});

test(`${TWICE}: a second signal more than a second later kills at once`, async (t) => {
	const { scratch, driver, waiting } = halfway(t, { run: { shutdownGraceMs: 60_000 } });
	await waiting;
	driver.signal('SIGINT');
	await new Promise((resolve) => setTimeout(resolve, 1100));
	driver.signal('SIGINT');
	t.is(await driver.ended(), 130);
	t.regex(driver.out, /line …\s+20\s+8\s+0\s+0\s+0/);
	await gone(scratch.pids());
});

test(`${LAUNCHER}: a driver killed by SIGKILL: every worker ends by itself, also one that is stuck and one behind a shell`, async (t) => {
	const scratch = new Scratch(t);
	const driver = new Driver(t, scratch, {
		blocks: 2,
		deeds: { 0: { do: 'hang' }, 1: { do: 'never' } },
		wrap: ['sh', '-c', '"$@"; true', 'sh'],
		task: { maxWorkers: 2 },
	});
	while (scratch.lines().length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
	const killed = performance.now();
	driver.signal('SIGKILL');
	await gone(scratch.pids());
	t.true(performance.now() - killed < 5000);
});

test(`${LAUNCHER}: a driver that exits in the middle of a run leaves no worker behind`, async (t) => {
	const { scratch, driver, waiting } = halfway(t, { wrap: ['sh', '-c', '"$@"; true', 'sh'] });
	await waiting;
	driver.signal('SIGQUIT');
	await driver.ended();
	await gone(scratch.pids());
	t.pass();
});

test(`${TWICE}: Ctrl-C before the first worker is connected`, async (t) => {
	const scratch = new Scratch(t);
	const driver = new Driver(t, scratch, {
		blocks: 4,
		wrap: ['sh', '-c', `touch ${scratch.path('started')}; exec sleep 1000`, 'sh'],
	});
	await scratch.made('started');
	driver.signal('SIGINT');
	t.is(await driver.ended(), 130);
	t.regex(driver.out, /line …\s+4\s+0\s+0\s+0\s+0/);
});

test('Summary after Ctrl-C, in serial mode: the run ends after the block, and the task is unfinished', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const driver = new Driver(t, scratch, {
		blocks: 4,
		deeds: { 1: { do: 'gate', file } },
		run: { multiprocessing: false },
	});
	await scratch.made('gate.waits.1');
	driver.signal('SIGINT');
	await driver.printed('signal seen');
	scratch.open('gate');
	t.is(await driver.ended(), 130);
	t.regex(driver.out, /line …\s+4\s+2\s+0\s+0\s+0/);
	t.regex(driver.out, /rejected ERR_BELLIS_INTERRUPTED SIGINT 130/);
});

test('serial mode: Ctrl-C waits for an asynchronous block no longer than the grace', async (t) => {
	const scratch = new Scratch(t);
	const driver = new Driver(t, scratch, {
		blocks: 4,
		deeds: { 1: { do: 'never', once: true } },
		run: { multiprocessing: false, shutdownGraceMs: 50 },
	});
	await scratch.made('calls.once.1');
	driver.signal('SIGINT');
	t.is(await driver.ended(), 130);
	t.regex(driver.out, /line …\s+4\s+1\s+0\s+0\s+0/);
	t.regex(driver.out, /rejected ERR_BELLIS_INTERRUPTED SIGINT 130/);
});

test('serial mode: a synchronous block sees no signal; SIGQUIT ends the process, and what was done is on record', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { 1: { do: 'hang', once: true } };
	const serial = { multiprocessing: false };
	const driver = new Driver(t, scratch, { blocks: 4, deeds, run: serial });
	await scratch.made('calls.once.1');
	driver.signal('SIGINT');
	driver.signal('SIGQUIT');
	t.is(await driver.ended(), 'SIGQUIT');
	const again = new Driver(t, scratch, { blocks: 4, deeds, run: serial });
	t.is(await again.ended(), 0);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1, 3: 1 });
});

test('a driver of these tests ends with the process that started it', async (t) => {
	const scratch = new Scratch(t);
	const driver = new Driver(t, scratch, { blocks: 1, deeds: { 0: { do: 'never', once: true } } });
	await scratch.made('calls.once.0');
	driver.child.stdin!.destroy();
	t.is(await driver.ended(), 1);
	await gone(scratch.pids());
});

test('an abort stops a run with workers and rejects with its reason', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const controller = new AbortController();
	const task = line(scratch, 4, { all: { do: 'gate', file } });
	const run = runBlockwise(task, {
		...scratch.quiet,
		signal: controller.signal,
		shutdownGraceMs: 0,
	});
	await scratch.made('gate.waits.0');
	controller.abort(new Error('enough'));
	await t.throwsAsync(run, { message: 'enough' });
	await gone(scratch.pids());
});

test('a run that is aborted while it opens its stores ends as an aborted one', async (t) => {
	const scratch = new Scratch(t);
	const controller = new AbortController();
	const never = { all: { do: 'gate', file: scratch.path('never') } };
	// until the call returns, nothing but checks has happened
	const run = runBlockwise(line(scratch, 4, never), {
		...scratch.quiet,
		signal: controller.signal,
		shutdownGraceMs: 0,
	});
	controller.abort(new Error('at once'));
	await t.throwsAsync(run, { message: 'at once' });
	await gone(scratch.pids());
});
