import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { fixture, line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const CASE = 'Functions that cannot be shipped; the main script run again in the worker';

test(`${CASE}: a module function by default export, named export, asynchronous, and from CommonJS`, async (t) => {
	for (const [processFunction, word] of [
		[fixture('deeds.js'), undefined],
		[{ module: fixture('deeds.js'), export: 'act' }, undefined],
		[{ module: fixture('deeds.js'), export: 'actLater' }, undefined],
		[fixture('common.cjs'), undefined],
		[{ module: fixture('common.cjs'), export: 'named' }, 'named'],
	] as const) {
		const scratch = new Scratch(t);
		t.true(await runBlockwise(line(scratch, 3, {}, { processFunction }), scratch.quiet));
		t.is(scratch.lines().length, 3);
		if (word) t.true(scratch.lines().every((text) => text.startsWith(word)));
	}
});

test(`${CASE}: a path relative to the file that makes the task`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 2, {}, { processFunction: './scratch-free-function.js' });
	await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_MODULE',
		message: /end-to-end.scratch-free-function\.js/,
	});
});

test(`${CASE}: a TypeScript module with top-level await, with the loader that this process has`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 2, {}, { processFunction: fixture('typed.ts'), execArgv: undefined });
	t.true(await runBlockwise(task, scratch.quiet));
	t.deepEqual(scratch.lines().sort(), ['typed 0', 'typed 1']);
});

test('TypeScript that nothing can load is refused before the run, naming a loader', async (t) => {
	if ((process.features as { typescript?: unknown }).typescript) return t.pass();
	const scratch = new Scratch(t);
	const task = line(scratch, 2, {}, { processFunction: fixture('typed.ts'), execArgv: [] });
	await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_MODULE',
		message: /node --import tsx/,
	});
	t.false(existsSync(scratch.path('logs')));
	return undefined;
});

test('an inline function runs in workers when it uses nothing around it', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		3,
		{},
		{
			processFunction: async (block, { config }) => {
				const { appendFileSync } = await import('node:fs');
				appendFileSync((config as { calls: string }).calls, `${block.index[0]}\n`);
			},
		},
	);
	t.true(await runBlockwise(task, scratch.quiet));
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1 });
});

test(`${CASE}: an inline function that uses a variable around it is refused for workers and fine in serial mode`, async (t) => {
	const scratch = new Scratch(t);
	const seen: number[] = [];
	const task = line(scratch, 3, {}, { processFunction: (block) => seen.push(block.index[0]!) });
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	await t.throwsAsync(runBlockwise(task, options), {
		code: 'ERR_BELLIS_FUNCTION',
		message: /seen/,
	});
	t.false(existsSync(scratch.path('stores')));
	t.true(await runBlockwise(task, { ...options, multiprocessing: false }));
	t.deepEqual(seen, [0, 1, 2]);
});

test('a module that throws when imported ends the run with its name, without starting workers again', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		10,
		{},
		{ processFunction: fixture('throws-at-import.js'), maxWorkers: 2 },
	);
	const error = await t.throwsAsync(runBlockwise(task, scratch.quiet));
	if (!isBellisError(error, 'ERR_BELLIS_MODULE')) return t.fail(String(error));
	t.regex(error.message, /throws-at-import\.js/);
	t.regex(error.message, /broken module/);
	t.regex(error.module, /throws-at-import\.js$/);
	return undefined;
});

test(`${CASE}: an export that is missing ends the run with its name`, async (t) => {
	const scratch = new Scratch(t);
	const processFunction = { module: fixture('deeds.js'), export: 'segment' };
	await t.throwsAsync(runBlockwise(line(scratch, 2, {}, { processFunction }), scratch.quiet), {
		code: 'ERR_BELLIS_MODULE',
		message: /"segment"/,
	});
});

test('a module that does not exist is refused before the run', async (t) => {
	const scratch = new Scratch(t);
	const processFunction = fixture('no-such-module.js');
	await t.throwsAsync(runBlockwise(line(scratch, 2, {}, { processFunction }), scratch.quiet), {
		code: 'ERR_BELLIS_MODULE',
		message: /no-such-module\.js/,
	});
	t.false(existsSync(scratch.path('logs')));
});

test('setup runs before the first block of a worker and teardown after its last', async (t) => {
	for (const multiprocessing of [true, false]) {
		const scratch = new Scratch(t);
		const task = line(scratch, 2, {}, { processFunction: fixture('hooks.js') });
		t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing }));
		t.deepEqual(scratch.lines(), ['setup line', 'block 0', 'block 1', 'teardown']);
	}
});

test('a setup that throws uses up starts and is told', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: fixture('hooks.js'),
			config: { calls: scratch.calls, failSetup: true },
			maxWorkerRestarts: 1,
		},
	);
	const states = await new Server().runBlockwise(task, scratch.quiet);
	t.true(states.line!.abandoned);
	t.is(states.line!.workerStarts, 2);
	t.regex(states.line!.firstError!, /no GPU/);
	t.deepEqual(scratch.lines(), ['setup line', 'setup line']);
});

test('what a teardown throws is told as the end of its worker', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: fixture('hooks.js'),
			config: { calls: scratch.calls, failTeardown: true },
			trackingPath: scratch.path('store'),
		},
	);
	t.true(await runBlockwise(task, scratch.quiet));
	const worker = (await task.report()).workers.byId[0];
	t.deepEqual([worker!.exit, worker!.exitReason], ['error', 'Error: no way back']);
});

test('the config that structuredClone takes reaches the worker', async (t) => {
	const scratch = new Scratch(t);
	const config = {
		calls: scratch.calls,
		when: new Date(0),
		map: new Map([[1, new Uint8Array([7])]]),
	};
	const task = line(
		scratch,
		1,
		{},
		{
			config,
			processFunction: async (_block, context) => {
				const { appendFileSync } = await import('node:fs');
				const { calls, when, map } = context.config as typeof config;
				appendFileSync(
					calls,
					`${when.toISOString()} ${map.get(1)![0]} ${context.taskId} ${context.workerId}\n`,
				);
			},
		},
	);
	t.true(await runBlockwise(task, scratch.quiet));
	t.deepEqual(scratch.lines(), ['1970-01-01T00:00:00.000Z 7 line 0']);
});

for (const wait of ['', 'yes']) {
	test(`${CASE}: a module that starts a run when imported is caught, no fork bomb (${wait ? 'awaited' : 'not awaited'})`, async (t) => {
		const scratch = new Scratch(t);
		const starts = scratch.path('starts');
		writeFileSync(starts, '');
		const task = line(
			scratch,
			4,
			{},
			{
				processFunction: fixture('starts-a-run.js'),
				env: { BELLIS_TEST_STARTS: starts, BELLIS_TEST_AWAIT: wait },
				maxWorkers: 2,
				maxWorkerRestarts: 2,
			},
		);
		await t.throwsAsync(runBlockwise(task, scratch.quiet), {
			message: /starts a run when it is imported/,
		});
		const started = readFileSync(starts, 'utf8').trimEnd().split('\n').length;
		t.true(started <= 4);
	});
}

test('a worker function drives its own loop; a program that it starts connects by its environment', async (t) => {
	const scratch = new Scratch(t);
	const own = line(
		scratch,
		6,
		{},
		{ processFunction: undefined, workerFunction: fixture('own-client.js'), maxWorkers: 2 },
	);
	t.true(await runBlockwise(own, scratch.quiet));
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 });

	const other = new Scratch(t);
	const workerFunction = { module: fixture('own-client.js'), export: 'grandchild' };
	const task = line(other, 4, {}, { processFunction: undefined, workerFunction });
	t.true(await runBlockwise(task, other.quiet));
	t.is(other.lines().length, 4);
	const [, pid, parent] = other.lines()[0]!.split(' ');
	t.not(pid, parent);
});

test('a worker function, its setup and teardown have the config at once, which is in no environment', async (t) => {
	const scratch = new Scratch(t);
	const config = { calls: scratch.calls, word: 'a-word-for-nobody-else' };
	let path = '';
	let mode = 0;
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: undefined,
			workerFunction: fixture('configured-worker.js'),
			config,
			launcher: {
				start: (spec, signal) => {
					path = spec.context.configFile!;
					mode = statSync(path).mode & 0o777;
					return new LocalLauncher().start(spec, signal);
				},
			},
		},
	);
	t.true(await runBlockwise(task, scratch.quiet));
	const { word } = config;
	t.deepEqual(scratch.lines(), [
		`setup ${word}`,
		`called ${word} false`,
		'block 0',
		'block 1',
		`teardown ${word}`,
	]);
	t.is(mode, 0o600);
	t.false(existsSync(path));
});

test('a worker function whose setup throws uses up starts and is told', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: undefined,
			workerFunction: fixture('configured-worker.js'),
			config: { calls: scratch.calls, word: 'word', failSetup: true },
			maxWorkerRestarts: 1,
		},
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.abandoned);
	t.is(state!.workerStarts, 2);
	t.regex(state!.firstError!, /no GPU/);
	t.deepEqual(scratch.lines(), ['setup word', 'setup word']);
});

test('client.process reports a throw as the failure of its block and throws it again', async (t) => {
	const scratch = new Scratch(t);
	const workerFunction = { module: fixture('own-client.js'), export: 'failsFirst' };
	const task = line(scratch, 3, {}, { processFunction: undefined, workerFunction });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 3);
	t.is(state!.failedAttempts, 1);
	t.is(scratch.lines().length, 5);
	t.deepEqual(scratch.lines().slice(0, 2), ['0', 'caught first block']);
});

test('a client closed with a block in hand has failed it', async (t) => {
	const scratch = new Scratch(t);
	const workerFunction = { module: fixture('own-client.js'), export: 'leaves' };
	const task = line(
		scratch,
		1,
		{},
		{ processFunction: undefined, workerFunction, maxRetries: 1, maxWorkerRestarts: 5 },
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.failed, 1);
	t.deepEqual(scratch.callsOf(), { 0: 2 });
	t.regex(state!.failures[0]!.message, /closed with the block in hand/);
});

test('a worker function that returns at once is not started without end', async (t) => {
	const scratch = new Scratch(t);
	const workerFunction = { module: fixture('own-client.js'), export: 'idle' };
	const task = line(
		scratch,
		4,
		{},
		{ processFunction: undefined, workerFunction, maxWorkers: 2, maxWorkerRestarts: 3 },
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.abandoned);
	t.deepEqual([state!.workerStarts, state!.workerFailures, state!.orphaned], [5, 0, 4]);
});

test('a worker function in serial mode, no function at all: refused', async (t) => {
	const scratch = new Scratch(t);
	const workerFunction = fixture('own-client.js');
	const task = line(scratch, 1, {}, { processFunction: undefined, workerFunction });
	await t.throwsAsync(runBlockwise(task, { ...scratch.quiet, multiprocessing: false }), {
		code: 'ERR_BELLIS_FUNCTION',
	});
	await t.throwsAsync(
		runBlockwise(line(scratch, 1, {}, { processFunction: undefined }), scratch.quiet),
		{ code: 'ERR_BELLIS_FUNCTION', message: /nothing to run/ },
	);
});

test('several asynchronous blocks run at once in one worker', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const task = line(scratch, 4, { all: { do: 'gate', file } }, { concurrency: 3 });
	const run = runBlockwise(task, scratch.quiet);
	await Promise.all([0, 1, 2].map((at) => scratch.made(`gate.waits.${at}`)));
	t.false(existsSync(`${file}.waits.3`));
	scratch.open('gate');
	t.true(await run);
	t.is(scratch.pids().length, 1);
});
