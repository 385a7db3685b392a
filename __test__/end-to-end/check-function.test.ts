import test from 'ava';
import { Block } from '../../src/block.js';
import { Roi } from '../../src/geometry/roi.js';
import type { RunEvent } from '../../src/progress/events.js';
import { Server } from '../../src/run/server.js';
import { Task } from '../../src/task/task.js';
import { fixture, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const CASE = 'A check function that always throws means no run ever resumes, and nobody is told';

/** 64 blocks of 10 x 10. */
function square(
	scratch: Scratch,
	checkFunction: (block: Block) => boolean | Promise<boolean>,
): Task {
	return new Task({
		taskId: 'square',
		totalRoi: new Roi([0, 0], [80, 80]),
		readRoi: new Roi([0, 0], [10, 10]),
		writeRoi: new Roi([0, 0], [10, 10]),
		readWriteConflict: false,
		processFunction: fixture('deeds.js'),
		checkFunction,
		config: { calls: scratch.calls },
		execArgv: [],
		maxWorkers: 2,
	});
}

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`${CASE}: a check function gets real blocks, and what it says is done is skipped (${how})`, async (t) => {
		const scratch = new Scratch(t);
		const seen = new Set<string>();
		const task = square(scratch, (block) => {
			if (block instanceof Block && block.writeRoi.size === 100) seen.add(block.id);
			return true;
		});
		const { square: state } = await new Server().runBlockwise(task, {
			...scratch.quiet,
			multiprocessing,
		});
		t.is(seen.size, 64);
		t.deepEqual([state!.completed, state!.skipped, state!.workerStarts], [64, 64, 0]);
		t.is(scratch.lines().length, 0);
	});

	test(`${CASE}: a check function that always throws: blocks run, errors are counted, one warning (${how})`, async (t) => {
		const scratch = new Scratch(t);
		const warnings: RunEvent[] = [];
		const task = square(scratch, () => {
			throw new TypeError('block.roi is not a function\nin two lines');
		});
		const { square: state } = await new Server().runBlockwise(task, {
			...scratch.quiet,
			multiprocessing,
			progress: {
				onEvent: (event) => {
					if (event.type === 'notice' && event.level === 'warning') warnings.push(event);
				},
			},
		});
		t.is(scratch.lines().length, 64);
		t.deepEqual([state!.completed, state!.skipped, state!.checkErrors], [64, 0, 64]);
		t.is(warnings.length, 1);
		t.like(warnings[0], {
			message: 'checkFunction failed, so blocks run: TypeError: block.roi is not a function',
		});
	});

	test(`${CASE}: a promise of false is not done (${how})`, async (t) => {
		const scratch = new Scratch(t);
		const task = square(scratch, async () => false);
		const { square: state } = await new Server().runBlockwise(task, {
			...scratch.quiet,
			multiprocessing,
		});
		t.deepEqual([state!.completed, state!.skipped], [64, 0]);
		t.is(scratch.lines().length, 64);
	});
}

test('an asynchronous check of one task does not hold up the blocks of another', async (t) => {
	const scratch = new Scratch(t);
	let checked = 0;
	let release: () => void = () => {};
	const gate = new Promise<void>((resolve) => {
		release = resolve;
	});
	const slow = square(scratch, async () => {
		checked++;
		await gate;
		return true;
	});
	const quick = new Task({
		taskId: 'quick',
		totalRoi: new Roi([0], [20]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		processFunction: fixture('deeds.js'),
		config: { calls: scratch.calls },
		execArgv: [],
	});
	const states = await new Server().runBlockwise([slow, quick], {
		...scratch.quiet,
		progress: {
			// the checks end only after the other task has
			onProgress: ({ quick: counts }) => {
				if (counts!.done) release();
			},
		},
	});
	t.is(states.quick!.completed, 2);
	t.is(states.square!.skipped, 64);
	t.is(checked, 64);
});
