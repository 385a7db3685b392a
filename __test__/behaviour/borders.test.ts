import test from 'ava';
import { DependencyGraph } from '../../src/dependency-graph.js';
import type { Roi } from '../../src/geometry/roi.js';
import { Server } from '../../src/run/server.js';
import { Scheduler } from '../../src/scheduler.js';
import type { TaskOptions } from '../../src/task/options.js';
import type { Task } from '../../src/task/task.js';
import { Scratch } from '../end-to-end/scratch.js';
import { type Region, taskOf } from './task-of.js';

/** Titles of the difficulties that these tests are about. */
const OVERHANG = 'Overhang may add more than one block';
const SMALL = 'Last piece smaller than the context; context larger than the block';
const UNEVEN = 'The last rows of a volume that does not divide evenly are lost';

const listed = (task: Task) => [...new DependencyGraph(task).blocks('t')];
const span = ({ begin, end }: Roi) => [begin[0], end[0]];
const byWrite = (task: Task) =>
	listed(task).sort((a, b) => a.writeRoi.begin[0]! - b.writeRoi.begin[0]!);

test(`${OVERHANG}: the fits with context larger than the block`, (t) => {
	const of = (total: number, fit: TaskOptions['fit']) =>
		byWrite(taskOf([[0], [total]], [[0], [15]], [[6], [3]], fit));
	for (const fit of ['valid', 'overhang', 'shrink'] as const) {
		const blocks = of(27, fit);
		t.deepEqual(
			blocks.map(({ writeRoi }) => span(writeRoi)),
			[6, 9, 12, 15, 18].map((begin) => [begin, begin + 3]),
		);
		t.is(blocks[0]!.id, 't/2');
	}
	t.is(of(28, 'valid').length, 5);
	const last = (fit: TaskOptions['fit']) => {
		const blocks = of(28, fit);
		const { writeRoi, readRoi } = blocks.at(-1)!;
		return [blocks.length, span(writeRoi), span(readRoi)];
	};
	t.deepEqual(last('overhang'), [6, [21, 24], [15, 30]]);
	t.deepEqual(last('shrink'), [6, [21, 22], [15, 28]]);
});

test(`${SMALL}: levels, and neighbours summed over blocks equal the whole`, (t) => {
	const small = taskOf([[-2], [15]], [[-2], [9]], [[0], [5]], 'shrink');
	const graph = new DependencyGraph(small);
	t.deepEqual(
		listed(small).map((block) => [graph.level(block), ...span(block.writeRoi)]),
		[
			[0, 5, 10],
			[1, 0, 5],
			[1, 10, 11],
		],
	);
	t.deepEqual(span(byWrite(small).at(-1)!.readRoi), [8, 13]);

	const wide = taskOf([[-20], [140]], [[-20], [50]], [[0], [10]], 'valid');
	const levels = new DependencyGraph(wide);
	const sizes = [0, 0, 0];
	for (const block of listed(wide)) sizes[levels.level(block)]!++;
	t.deepEqual([levels.blockCount('t'), sizes], [10n, [3, 3, 4]]);

	const value = (x: number) => (x * x) % 17;
	for (const [task, context] of [
		[small, 2],
		[wide, 20],
	] as const) {
		const { begin, end } = task.totalWriteRoi;
		const sums = new Map<number, number>();
		for (const block of listed(task)) {
			for (let x = block.writeRoi.begin[0]!; x < block.writeRoi.end[0]!; x++) {
				let sum = 0;
				for (let near = x - context; near <= x + context; near++) {
					t.true(near >= block.readRoi.begin[0]! && near < block.readRoi.end[0]!);
					sum += value(near);
				}
				t.false(sums.has(x));
				sums.set(x, sum);
			}
		}
		t.is(sums.size, end[0]! - begin[0]!);
	}
});

test(`${SMALL}: 860 single slices have three levels, and never more than 287 are ready`, (t) => {
	const slices = taskOf(
		[
			[-2, -2, -2],
			[864, 1028, 1028],
		],
		[
			[-2, -2, -2],
			[5, 1028, 1028],
		],
		[
			[0, 0, 0],
			[1, 1024, 1024],
		],
		'valid',
	);
	const graph = new DependencyGraph(slices);
	const sizes = [0, 0, 0];
	for (const block of graph.blocks('t')) sizes[graph.level(block)]!++;
	t.deepEqual([graph.blockCount('t'), sizes], [860n, [286, 287, 287]]);
	const scheduler = new Scheduler(slices);
	let most = 0;
	for (;;) {
		most = Math.max(most, scheduler.states.t!.ready);
		const block = scheduler.acquire('t');
		if (block === null) break;
		scheduler.release(block);
	}
	t.true(most <= 287);
	t.is(scheduler.states.t!.completed, 860);
});

test(`${UNEVEN}: what the fits cover`, (t) => {
	const covered = (total: Region, block: number[]) =>
		(['valid', 'overhang', 'shrink'] as const).map((fit) => {
			const zero = block.map(() => 0);
			const task = taskOf(total, [zero, block], [zero, block], fit, { readWriteConflict: false });
			let voxels = 0;
			let end = 0;
			for (const { writeRoi } of listed(task)) {
				voxels += writeRoi.size;
				end = Math.max(end, writeRoi.end.toArray().at(-1)!);
			}
			return [listed(task).length, voxels, end];
		});
	const first = covered(
		[
			[0, 0, 0],
			[2160, 2560, 687],
		],
		[128, 128, 64],
	);
	t.deepEqual(
		first.map(([count, voxels]) => [count, voxels]),
		[
			[3200, 3_355_443_200],
			[3740, 3_921_674_240],
			[3740, 3_798_835_200],
		],
	);
	const second = covered(
		[
			[0, 0, 1],
			[4029, 7711, 219],
		],
		[64, 64, 64],
	);
	t.deepEqual(
		second.map(([count, , end]) => [count, end]),
		[
			[22_320, 193],
			[30_492, 257],
			[30_492, 220],
		],
	);
	t.is(second[2]![1], 6_803_808_561);
});

test(`${UNEVEN}: one warning names what is left out, per axis`, async (t) => {
	const scratch = new Scratch(t);
	const warnings: string[] = [];
	const task = taskOf(
		[
			[0, 0, 1],
			[25, 20, 19],
		],
		[
			[0, 0, 0],
			[10, 10, 10],
		],
		[
			[0, 0, 0],
			[10, 10, 10],
		],
		'valid',
		{ processFunction: () => {} },
	);
	const onEvent = (event: { type: string; level?: string; message?: string }) => {
		if (event.type === 'notice' && event.level === 'warning') warnings.push(event.message!);
	};
	const options = { ...scratch.quiet, multiprocessing: false, progress: { onEvent } };
	const { t: state } = await new Server().runBlockwise(task, options);
	t.is(state!.completed, 4);
	t.is(warnings.length, 1);
	t.regex(warnings[0]!, /\[20, 25\) along axis 0.*\[11, 20\) along axis 2/);
});
