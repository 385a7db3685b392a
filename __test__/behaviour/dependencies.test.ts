import test from 'ava';
import { DependencyGraph } from '../../src/dependency-graph.js';
import { UncoveredError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import { chain, type Pipeline } from '../../src/pipeline.js';
import { Server } from '../../src/run/server.js';
import { Scheduler } from '../../src/scheduler.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import { Scratch } from '../end-to-end/scratch.js';

/** Titles of the difficulties that these tests are about. */
const PHANTOM = '"Phantom" levels and orphans counted twice';
const ASYMMETRIC =
	'Chained tasks with *asymmetric* context: downstream blocks never become ready -> the run hangs';
const PART = "Downstream task on a part of the upstream's volume: crash";
const LARGER =
	'Downstream task larger than its upstream: the blocks with no upstream block never start';
const SILENT = 'Silently wrong run';
const RIM = 'Uncovered rim';
const OVERFLOW = 'Overflow';

function line(taskId: string, total: [number, number], more: Partial<TaskOptions> = {}): Task {
	return new Task({
		taskId,
		totalRoi: new Roi([total[0]], [total[1]]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		readWriteConflict: false,
		processFunction: () => {},
		...more,
	});
}

const context = (below: number, above: number): Partial<TaskOptions> => ({
	readRoi: new Roi([-below], [below + 10 + above]),
	fit: 'shrink',
});

/** For each block of `b`, where it writes, and where the blocks of `a` write that it waits for. */
function waits(pipeline: Pipeline): Record<number, number[]> {
	const graph = new DependencyGraph(pipeline);
	return Object.fromEntries(
		[...graph.blocks('b')].map((block) => [
			block.writeRoi.begin[0]!,
			graph.upstream(block).map(({ writeRoi }) => writeRoi.begin[0]!),
		]),
	);
}

/** Runs a pipeline in a run and in a scheduler; the number of blocks that each completed, by task. */
async function complete(scratch: Scratch, pipeline: () => Pipeline) {
	const options = { ...scratch.quiet, multiprocessing: false };
	const run = await new Server().runBlockwise(pipeline(), options);
	const { states, ...scheduler } = drained(pipeline());
	const counts = (of: typeof states) =>
		Object.fromEntries(Object.entries(of).map(([id, { completed }]) => [id, completed]));
	return [counts(run), counts(states), scheduler.calls];
}

function drained(pipeline: Pipeline) {
	const scheduler = new Scheduler(pipeline);
	const seen = new Set<string>();
	let calls = 0;
	for (let progressed = true; progressed; ) {
		progressed = false;
		for (const taskId of Object.keys(scheduler.states).reverse()) {
			for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
				progressed = true;
				seen.add(block.id);
				calls++;
				scheduler.release(block);
			}
		}
	}
	return { states: scheduler.states, calls: calls === seen.size ? calls : -1 };
}

test(`${PHANTOM}: context larger than the volume`, (t) => {
	const task = new Task({
		taskId: 'a',
		totalRoi: new Roi([0, 0], [318, 318]),
		readRoi: new Roi([0, 0], [288, 288]),
		writeRoi: new Roi([109, 109], [70, 70]),
		fit: 'overhang',
	});
	const scheduler = new Scheduler(task);
	let blocks = 0;
	for (let block = scheduler.acquire('a'); block; block = scheduler.acquire('a')) {
		blocks++;
		t.is(scheduler.states.a!.ready, 0);
		scheduler.release(block);
		t.true(scheduler.states.a!.ready <= 1);
	}
	t.is(blocks, 4);
});

for (const maxRetries of [0, 2]) {
	test(`${PHANTOM}: every block fails, with ${maxRetries} retries`, (t) => {
		const task = new Task({
			taskId: 'a',
			totalRoi: new Roi([0, 0], [25, 25]),
			readRoi: new Roi([0, 0], [7, 7]),
			writeRoi: new Roi([3, 3], [1, 1]),
			maxRetries,
		});
		const scheduler = new Scheduler(task);
		let calls = 0;
		for (let block = scheduler.acquire('a'); block; block = scheduler.acquire('a')) {
			calls++;
			scheduler.fail(block, new Error('on purpose'));
		}
		t.is(calls, 16 * (maxRetries + 1));
		t.like(scheduler.states.a, { total: 361, failed: 16, orphaned: 345, done: true, pending: 0 });
	});
}

test(`${ASYMMETRIC} (context above)`, async (t) => {
	const pipeline = () => chain(line('a', [0, 30]), line('b', [0, 45], context(0, 15)));
	t.deepEqual(waits(pipeline()), { 0: [0, 10, 20], 10: [10, 20], 20: [20] });
	t.deepEqual(await complete(new Scratch(t), pipeline), [{ a: 3, b: 3 }, { a: 3, b: 3 }, 6]);
});

test(`${SILENT} (context below)`, async (t) => {
	const pipeline = () => chain(line('a', [0, 30]), line('b', [-15, 45], context(15, 0)));
	t.deepEqual(waits(pipeline()), { 0: [0], 10: [0, 10], 20: [0, 10, 20] });
	t.deepEqual(await complete(new Scratch(t), pipeline), [{ a: 3, b: 3 }, { a: 3, b: 3 }, 6]);
});

test(`${PART}`, async (t) => {
	const pipeline = () => chain(line('a', [0, 30]), line('b', [10, 10]));
	t.deepEqual(waits(pipeline()), { 10: [10] });
	t.deepEqual(await complete(new Scratch(t), pipeline), [{ a: 3, b: 1 }, { a: 3, b: 1 }, 4]);
	for (const total of [
		[20, 30],
		[30, 30],
	] as [number, number][]) {
		t.throws(() => new Scheduler(chain(line('a', [0, 30]), line('b', total))), {
			instanceOf: UncoveredError,
		});
	}
});

test(`${LARGER}`, async (t) => {
	const scratch = new Scratch(t);
	const larger =
		(more: Partial<TaskOptions> = {}) =>
		() =>
			chain(line('a', [0, 30]), line('b', [-10, 50], more));
	for (const multiprocessing of [true, false]) {
		const error = await t.throwsAsync(
			new Server().runBlockwise(larger()(), { ...scratch.quiet, multiprocessing }),
			{ instanceOf: UncoveredError },
		);
		t.like(error, { taskId: 'b', upstreamId: 'a', axis: 0 });
		t.deepEqual((error as UncoveredError).region, { offset: [-10], shape: [10] });
	}
	const allowed = larger({ allowUncovered: true });
	t.deepEqual(waits(allowed()), { '-10': [], 0: [0], 10: [10], 20: [20], 30: [] });
	t.is(new Scheduler(allowed()).states.b!.ready, 2);
	t.deepEqual(await complete(scratch, allowed), [{ a: 3, b: 5 }, { a: 3, b: 5 }, 8]);
});

test(`${LARGER}: coprime block sizes, and an upstream task without blocks`, async (t) => {
	const scratch = new Scratch(t);
	const sevens = { readRoi: new Roi([0], [7]), writeRoi: new Roi([0], [7]) };
	const fives = { readRoi: new Roi([0], [5]), writeRoi: new Roi([0], [5]) };
	const coprime = () => chain(line('a', [0, 35], sevens), line('b', [0, 35], fives));
	t.deepEqual(waits(coprime()), {
		0: [0],
		5: [0, 7],
		10: [7, 14],
		15: [14],
		20: [14, 21],
		25: [21, 28],
		30: [28],
	});
	t.deepEqual(await complete(scratch, coprime), [{ a: 5, b: 7 }, { a: 5, b: 7 }, 12]);
	const empty = () => chain(line('a', [0, 3]), line('b', [0, 40], { allowUncovered: true }));
	t.is(new Scheduler(empty()).states.b!.ready, 4);
	t.deepEqual(await complete(scratch, empty), [{ a: 0, b: 4 }, { a: 0, b: 4 }, 4]);
});

test(`${RIM}: what a valid upstream task leaves out is refused, or runs at once`, async (t) => {
	const rim =
		(more: Partial<TaskOptions> = {}) =>
		() =>
			chain(line('a', [0, 35]), line('b', [0, 35], { fit: 'shrink', ...more }));
	const error = t.throws(() => new Scheduler(rim()()), { instanceOf: UncoveredError });
	t.deepEqual(error!.region, { offset: [30], shape: [5] });
	const allowed = rim({ allowUncovered: true });
	t.is(new Scheduler(allowed()).states.b!.ready, 1);
	t.deepEqual(await complete(new Scratch(t), allowed), [{ a: 3, b: 4 }, { a: 3, b: 4 }, 7]);
});

test(`${OVERFLOW}: 10^21 blocks are counted and not run`, async (t) => {
	const side = 10 ** 7;
	const cube = new Task({
		taskId: 'a',
		totalRoi: new Roi([0, 0, 0], [side, side, side]),
		readRoi: new Roi([0, 0, 0], [1, 1, 1]),
		writeRoi: new Roi([0, 0, 0], [1, 1, 1]),
		processFunction: () => {},
	});
	t.is(new DependencyGraph(cube).blockCount('a'), 10n ** 21n);
	const refusal = { code: 'ERR_BELLIS_VALIDATION', message: /1000000000000000000000 blocks/ };
	t.throws(() => new Scheduler(cube), refusal);
	await t.throwsAsync(new Server().runBlockwise(cube, new Scratch(t).quiet), refusal);
});
