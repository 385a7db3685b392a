import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Task } from '../../src/task/task.js';
import { fixture, Scratch } from './scratch.js';

/** Two blocks on each axis, whose lower context of many blocks makes their numbers large. */
function farTask(scratch: Scratch, context: number, dims: number): Task {
	const axes = (value: number) => new Array<number>(dims).fill(value);
	return new Task({
		taskId: 'far',
		totalRoi: new Roi(axes(-context), axes(context + 2)),
		readRoi: new Roi(axes(-context), axes(context + 1)),
		writeRoi: new Roi(axes(0), axes(1)),
		readWriteConflict: false,
		maxWorkers: 2,
		processFunction: fixture('note-ids.js'),
		config: { calls: scratch.calls },
		execArgv: [],
	});
}

for (const [context, dims, first] of [
	[200_000, 3, 36000260000600000n],
	[3_810_778, 3, null],
	[2 ** 40, 2, null],
] as const) {
	test(`blocks behind a context of ${context} in ${dims} dimensions keep distinct, exact numbers in workers`, async (t) => {
		const scratch = new Scratch(t);
		const task = farTask(scratch, context, dims);
		t.true(await runBlockwise(task, scratch.quiet));
		const blocks = scratch.lines().map((line) => JSON.parse(line));
		t.is(blocks.length, 2 ** dims);
		t.is(new Set(blocks.map(({ id }) => id)).size, 2 ** dims);
		for (const { id, number, index, writeRoi } of blocks) {
			t.is(id, `far/${number}`);
			t.deepEqual(writeRoi.offset, index);
			if (first !== null && index.every((value: number) => value === 0))
				t.is(BigInt(number), first);
		}
	});
}

test('negative and far offsets reach the worker as they are', async (t) => {
	const scratch = new Scratch(t);
	const begin = -(2 ** 40) - 1000;
	const task = new Task({
		taskId: 'far',
		totalRoi: new Roi([BigInt(begin)], [20]),
		readRoi: new Roi([-1000n], [10]),
		writeRoi: new Roi([-1000n], [10]),
		processFunction: fixture('note-ids.js'),
		config: { calls: scratch.calls },
		execArgv: [],
	});
	t.true(await runBlockwise(task, scratch.quiet));
	const offsets = scratch.lines().map((line) => JSON.parse(line).readRoi.offset[0]);
	t.deepEqual(
		offsets.sort((a, b) => a - b),
		[begin, begin + 10],
	);
});
