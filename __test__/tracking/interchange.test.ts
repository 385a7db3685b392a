import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { Block } from '../../src/block.js';
import { Roi } from '../../src/geometry/roi.js';
import { Server } from '../../src/run/server.js';
import { Task } from '../../src/task/task.js';
import { Scratch } from '../end-to-end/scratch.js';
import { ARRAYS, readArrays } from './arrays.js';
import { askDaisy, daisyPython } from './daisy.js';

type Region = [offset: number[], shape: number[]];
type Fit = 'valid' | 'overhang' | 'shrink';

interface Case {
	readonly name: string;
	readonly total: Region;
	readonly read: Region;
	readonly write: Region;
	readonly fit: Fit;
	readonly resourceTracking: boolean;
}

const shapes: Record<string, [Region, Region, Region]> = {
	'1d-wide-context': [
		[[-25], [94]],
		[[-25], [60]],
		[[0], [10]],
	],
	'2d': [
		[
			[0, -7],
			[27, 22],
		],
		[
			[0, 0],
			[8, 5],
		],
		[
			[2, 0],
			[4, 5],
		],
	],
	'3d-negative': [
		[
			[-7, -100, 3],
			[9, 13, 10],
		],
		[
			[0, 0, 0],
			[4, 5, 7],
		],
		[
			[1, 1, 1],
			[2, 3, 4],
		],
	],
};

/** 1-D to 3-D, every fit, with and without measurements. */
const cases: Case[] = Object.entries(shapes).flatMap(([name, [total, read, write]]) =>
	(['valid', 'overhang', 'shrink'] as const).flatMap((fit) =>
		[false, true].map((resourceTracking) => ({
			name: `${name}-${fit}${resourceTracking ? '-measured' : ''}`,
			...{ total, read, write, fit, resourceTracking },
		})),
	),
);

/** The case as daisy's script gets it. */
function request(scratch: Scratch, { name, total, read, write, fit, resourceTracking }: Case) {
	return { total, read, write, fit, resourceTracking, trackingPath: scratch.path(name) };
}

/** The case as a task of ours, and the numbers of the blocks that it runs. */
function ours(scratch: Scratch, one: Case, more: { fails?: (block: Block) => boolean } = {}) {
	const ran: number[] = [];
	const options = {
		taskId: 'interchange',
		totalRoi: new Roi(...one.total),
		readRoi: new Roi(...one.read),
		writeRoi: new Roi(...one.write),
		fit: one.fit,
		readWriteConflict: false,
		resourceTracking: one.resourceTracking,
		trackingPath: scratch.path(one.name),
	};
	const task = (skipMask?: Uint8Array) =>
		new Task({
			...options,
			...(skipMask && { skipMask }),
			processFunction: (block) => {
				if (more.fails?.(block)) throw new Error('as asked');
				ran.push(Number(block.number));
			},
		});
	return { task, ran };
}

/** Masks every second block: 1 where it is left out. */
const half = (blocks: number) => Uint8Array.from({ length: blocks }, (_, i) => i % 2);

test('daisy does half of it and bellis finishes, in every shape and fit', async (t) => {
	const python = daisyPython(t);
	if (python === null) return;
	const scratch = new Scratch(t);
	const run = { ...scratch.quiet, multiprocessing: false };
	const blocksOf = (one: Case) =>
		ours(scratch, one)
			.task()
			.blockGridShape.reduce((a, b) => a * b, 1);
	const first = askDaisy(
		python,
		scratch.dir,
		cases.map((one) => ({
			...request(scratch, one),
			mask: [...half(blocksOf(one))],
			maskShape: ours(scratch, one).task().blockGridShape,
		})),
	);
	for (const [at, one] of cases.entries()) {
		const { task, ran } = ours(scratch, one);
		const made = task();
		const total = blocksOf(one);
		t.is(first[at]!.ran.length, Math.ceil(total / 2), one.name);
		t.like(await made.status(), { done: first[at]!.ran.length, blocks: total }, one.name);
		const { interchange: state } = await new Server().runBlockwise(made, run);
		t.deepEqual([state!.completed, state!.skipped], [total, first[at]!.ran.length], one.name);
		t.deepEqual(
			ran.filter((id) => first[at]!.ran.includes(id)),
			[],
			`${one.name}: no block twice`,
		);
		t.is(ran.length + first[at]!.ran.length, total, one.name);
	}
	const again = askDaisy(
		python,
		scratch.dir,
		cases.map((one) => request(scratch, one)),
	);
	for (const [at, one] of cases.entries()) {
		t.deepEqual(again[at]!.ran, [], `${one.name}: nothing is left for daisy`);
		t.is(again[at]!.skipped, blocksOf(one), one.name);
	}
});

test('bellis does half of it and daisy finishes, in every shape and fit', async (t) => {
	const python = daisyPython(t);
	if (python === null) return;
	const scratch = new Scratch(t);
	const run = { ...scratch.quiet, multiprocessing: false };
	const done = new Map<string, number[]>();
	const totals = new Map<string, number>();
	for (const one of cases) {
		const { task, ran } = ours(scratch, one);
		const total = task().blockGridShape.reduce((a, b) => a * b, 1);
		await new Server().runBlockwise(task(half(total)), run);
		done.set(one.name, [...ran]);
		totals.set(one.name, total);
	}
	const answers = askDaisy(
		python,
		scratch.dir,
		cases.map((one) => request(scratch, one)),
	);
	for (const [at, one] of cases.entries()) {
		const before = done.get(one.name)!;
		t.deepEqual(
			answers[at]!.ran.filter((id) => before.includes(id)),
			[],
			`${one.name}: no block twice`,
		);
		t.is(answers[at]!.ran.length + before.length, totals.get(one.name)!, one.name);
		t.is(answers[at]!.skipped, before.length, one.name);
		const { task, ran } = ours(scratch, one);
		await new Server().runBlockwise(task(), run);
		t.deepEqual(ran, [], `${one.name}: nothing is left`);
	}
});

test('failures of both add up', async (t) => {
	const python = daisyPython(t);
	if (python === null) return;
	const scratch = new Scratch(t);
	const one: Case = {
		name: 'failures',
		total: [[0], [60]],
		read: [[0], [10]],
		write: [[0], [10]],
		fit: 'valid',
		resourceTracking: true,
	};
	const task = (options: object) =>
		new Task({
			taskId: 'interchange',
			totalRoi: new Roi([0], [60]),
			readRoi: new Roi([0], [10]),
			writeRoi: new Roi([0], [10]),
			readWriteConflict: false,
			resourceTracking: true,
			trackingPath: scratch.path(one.name),
			execArgv: [],
			...options,
		});
	const failing = task({
		maxRetries: 1,
		onBlockError: 'keep-worker',
		processFunction: (block: Block) => {
			if (block.index[0] === 2 || block.index[0] === 4) throw new Error('as asked');
		},
	});
	const { interchange: state } = await new Server().runBlockwise(failing, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed], [4, 2]);
	const [answer] = askDaisy(python, scratch.dir, [{ ...request(scratch, one), fail: [2] }]);
	t.deepEqual([answer!.failed, answer!.completed], [[2], 5]);
	const failed = await task({}).failedBlocks();
	// two attempts of each
	t.deepEqual(
		failed.map(({ id, attempts }) => [id, attempts]),
		[['interchange/2', 4]],
	);
	const { failures, done } = await readArrays(scratch.path(one.name));
	t.deepEqual(failures!.values, [0, 0, 4, 0, 2, 0]);
	t.deepEqual(done!.values, [1, 1, 0, 1, 1, 1]);
});

test('zarr-python reads what zarrita and bellis read, and daisy the hash', async (t) => {
	const python = daisyPython(t);
	if (python === null) return;
	const scratch = new Scratch(t);
	for (const one of cases.filter(({ resourceTracking }) => resourceTracking)) {
		const { task } = ours(scratch, one);
		const total = task().blockGridShape.reduce((a, b) => a * b, 1);
		const run = { ...scratch.quiet, multiprocessing: false };
		await new Server().runBlockwise(task(half(total)), run);
		const [answer] = askDaisy(python, scratch.dir, [{ look: scratch.path(one.name) }]);
		t.is(answer!.hash, task().layoutHash);
		t.deepEqual(Object.keys(answer!.arrays!).sort(), Object.keys(ARRAYS).sort());
		for (const [name, { values }] of Object.entries(await readArrays(scratch.path(one.name)))) {
			const theirs = answer!.arrays![name]!.map((value) => (value === 'NaN' ? Number.NaN : value));
			t.deepEqual(values, theirs as number[], `${one.name}: ${name}`);
		}
	}
});

test('a store of daisy that has grown goes on where grownFrom names the old total, in daisy too', async (t) => {
	const python = daisyPython(t);
	if (python === null) return;
	const scratch = new Scratch(t);
	const old: Case = {
		name: 'grown',
		total: [[0], [45]],
		read: [[0], [10]],
		write: [[0], [10]],
		fit: 'shrink',
		resourceTracking: true,
	};
	const [first] = askDaisy(python, scratch.dir, [request(scratch, old)]);
	t.is(first!.completed, 5);
	const grown: Case = { ...old, total: [[-20], [95]] };
	const run = { ...scratch.quiet, multiprocessing: false };
	const { task, ran } = ours(scratch, grown);
	await t.throwsAsync(new Server().runBlockwise(task(), run), {
		code: 'ERR_BELLIS_LAYOUT_MISMATCH',
		message: /grownFrom/,
	});
	t.deepEqual(ran, []);
	const named = new Task({
		taskId: 'interchange',
		totalRoi: new Roi(...grown.total),
		readRoi: new Roi(...grown.read),
		writeRoi: new Roi(...grown.write),
		fit: 'shrink',
		readWriteConflict: false,
		resourceTracking: true,
		trackingPath: scratch.path('grown'),
		grownFrom: new Roi(...old.total),
		skipMask: [1, 1, 0, 0, 0, 0, 1, 1, 1, 1],
		processFunction: (block) => void ran.push(Number(block.number)),
	});
	const { interchange: state } = await new Server().runBlockwise(named, run);
	t.deepEqual([ran, state!.skipped], [[], 10]);
	const answer = askDaisy(python, scratch.dir, [request(scratch, grown)])[0]!;
	// the last block was cut to half and runs again
	t.deepEqual([answer.skipped, answer.ran], [4, [0, 1, 6, 7, 8, 9]]);
	t.is(
		JSON.parse(readFileSync(join(scratch.path('grown'), 'zarr.json'), 'utf8')).attributes
			.daisy_task_hash,
		task().layoutHash,
	);
});
