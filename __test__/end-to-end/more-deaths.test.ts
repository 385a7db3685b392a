import test from 'ava';
import { Server } from '../../src/run/server.js';
import { fixture, gone, line, Scratch } from './scratch.js';

/** Title of the difficulty that some of these tests are about. */
const KILLED = 'A worker killed from outside leaves the server waiting for ever';

test('a worker that runs out of memory is told as such; its block is tried again, then failed', async (t) => {
	const scratch = new Scratch(t);
	const options = { execArgv: ['--max-old-space-size=24'], maxRetries: 1 };
	const task = line(scratch, 3, { 1: { do: 'fillHeap' } }, options);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [2, 1, 2]);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1 });
	t.regex(state!.failures[0]!.message, /ran out of JavaScript heap memory \(SIGABRT\)/);
	t.notRegex(state!.failures[0]!.message, /stopped by the run/);
	t.is(state!.workerFailures, 2);
});

test(`${KILLED}: one that cuts its line and lives on is ended, and its block tried again at the cost of one try`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 4, { 1: { do: 'closeSockets', once: true } });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [4, 0, 1]);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1, 3: 1 });
	await gone(scratch.pids());
});

for (const code of [0, 1, 3, 7, 130, 137, 143, 255]) {
	test(`process.exit(${code}) between blocks loses no try`, async (t) => {
		const scratch = new Scratch(t);
		const task = line(
			scratch,
			6,
			{},
			{
				processFunction: { module: fixture('exits.js'), export: 'exitsBetween' },
				config: { calls: scratch.calls, code },
				maxRetries: 0,
			},
		);
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [6, 0, 0]);
		t.is(scratch.lines().length, 6);
	});

	test(`process.exit(${code}) in a block fails that block alone`, async (t) => {
		const scratch = new Scratch(t);
		const task = line(scratch, 6, { 2: { do: 'exit', code } }, { maxRetries: 1 });
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [5, 1, 2]);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 2, 3: 1, 4: 1, 5: 1 });
	});
}

test('a worker that exits in setup, whatever the code, uses up starts and ends the run', async (t) => {
	for (const code of [0, 9]) {
		const scratch = new Scratch(t);
		const task = line(
			scratch,
			3,
			{},
			{
				processFunction: { module: fixture('exits-in-setup.js'), export: 'default' },
				config: { code },
				maxWorkers: 2,
				maxWorkerRestarts: 1,
			},
		);
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.true(state!.abandoned);
		t.true(state!.workerStarts <= 3);
		t.is(state!.orphaned, 3);
	}
});

test('several blocks at once: a crash makes each of them run again alone, and only the one that crashes fails', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { all: { do: 'sleep', ms: 20 }, 3: { do: 'abort' } };
	const task = line(scratch, 8, deeds, { concurrency: 4, maxRetries: 1, maxWorkerRestarts: 20 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed], [7, 1]);
	t.is(state!.failures[0]!.block?.index[0], 3);
});

test('several blocks at once: a timeout blames the block past its deadline alone', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { all: { do: 'sleep', ms: 20 }, 3: { do: 'never' } };
	const options = { concurrency: 4, maxRetries: 1, timeoutMs: 500 };
	const { line: state } = await new Server().runBlockwise(
		line(scratch, 8, deeds, options),
		scratch.quiet,
	);
	t.deepEqual(
		[state!.completed, state!.failed, state!.timeouts, state!.failedAttempts],
		[7, 1, 2, 2],
	);
	t.regex(state!.failures[0]!.message, /ran longer than its timeout of 0\.5 s/);
});
