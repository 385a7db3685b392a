import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { Server } from '../../src/run/server.js';
import { Task } from '../../src/task/task.js';
import { fixture, line, Scratch } from './scratch.js';

test('a client that pauses between two blocks keeps none from others, and its process', async (t) => {
	const scratch = new Scratch(t);
	const blocks = 60;
	const task = line(
		scratch,
		blocks,
		{},
		{
			processFunction: undefined,
			workerFunction: { module: fixture('own-client.js'), export: 'pauses' },
			config: { calls: scratch.calls, blocks },
			maxWorkers: 2,
			// the pause is longer
			timeoutMs: 300,
		},
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.workerFailures, state!.timeouts], [blocks, 0, 0]);
	t.deepEqual(Object.values(scratch.callsOf()), new Array(blocks).fill(1));
	t.is(readFileSync(`${scratch.calls}.pauses`, 'utf8'), 'over');
});

/** Two workers get to every block although one of them waits at the gate until they have. */
async function runsEachPastGate(
	t: ExecutionContext,
	scratch: Scratch,
	blocks: number,
	deeds: Record<number, unknown>,
) {
	const task = line(scratch, blocks, deeds, { maxWorkers: 2 });
	const run = new Server().runBlockwise(task, scratch.quiet);
	while (scratch.lines().length < blocks) await new Promise((resolve) => setTimeout(resolve, 5));
	scratch.open('gate');
	const { line: state } = await run;
	t.is(state!.completed, blocks);
	t.deepEqual(Object.values(scratch.callsOf()), new Array(blocks).fill(1));
}

test('long blocks wait for nobody: each is taken by a worker that is free', async (t) => {
	const scratch = new Scratch(t);
	// block 0 lasts until all the others are done, which its worker must not have in hand
	const deeds = { 0: { do: 'gate', file: scratch.path('gate') } };
	const short = { do: 'sleep', ms: 12 };
	for (let block = 1; block < 40; block++) Object.assign(deeds, { [block]: short });
	await runsEachPastGate(t, scratch, 40, deeds);
});

test('short blocks behind a long one are taken back for a worker that is free', async (t) => {
	const scratch = new Scratch(t);
	// so many come at once that some are in the worker's hands when it meets the long one
	const deeds = { 700: { do: 'gateSync', file: scratch.path('gate') } };
	await runsEachPastGate(t, scratch, 2_000, deeds);
});

for (const concurrency of [1, 3]) {
	test(`no block runs beside a neighbour that it conflicts with (${concurrency} at once in a worker)`, async (t) => {
		const scratch = new Scratch(t);
		const task = new Task({
			taskId: 'volume',
			totalRoi: new Roi([0, 0, 0], [44, 44, 44]),
			readRoi: new Roi([0, 0, 0], [8, 8, 8]),
			writeRoi: new Roi([2, 2, 2], [4, 4, 4]),
			processFunction: {
				module: fixture('neighbours.js'),
				export: concurrency > 1 ? 'later' : 'at',
			},
			config: { file: scratch.path('open'), calls: scratch.calls },
			execArgv: [],
			maxWorkers: 4,
			maxRetries: 0,
			concurrency,
		});
		const { volume: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed, state!.firstError], [1_000, 0, null]);
		t.is(Object.keys(scratch.callsOf()).length, 1_000);
	});
}

test('the test of neighbours sees them where nothing keeps them apart', async (t) => {
	const scratch = new Scratch(t);
	const task = new Task({
		taskId: 'volume',
		totalRoi: new Roi([0, 0, 0], [44, 44, 44]),
		readRoi: new Roi([0, 0, 0], [8, 8, 8]),
		writeRoi: new Roi([2, 2, 2], [4, 4, 4]),
		readWriteConflict: false,
		processFunction: { module: fixture('neighbours.js'), export: 'later' },
		config: { file: scratch.path('open'), calls: scratch.calls },
		execArgv: [],
		maxRetries: 0,
		concurrency: 3,
		onBlockError: 'keep-worker',
	});
	const { volume: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.failed > 0);
	t.regex(state!.firstError!, /beside its neighbour/);
});
