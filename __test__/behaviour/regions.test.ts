import test from 'ava';
import type { Block } from '../../src/block.js';
import { DependencyGraph } from '../../src/dependency-graph.js';
import { Roi } from '../../src/geometry/roi.js';
import { Server } from '../../src/run/server.js';
import { Scheduler } from '../../src/scheduler.js';
import { Scratch } from '../end-to-end/scratch.js';
import { taskOf } from './task-of.js';

/** Titles of the difficulties that these tests are about. */
const WIDE = '64-bit ids and coordinates crossing into JavaScript';
const EMPTY = 'Empty ROI arithmetic';

test(`${WIDE}: numbers far beyond 2^53 are exact and distinct through a scheduler`, (t) => {
	const task = taskOf(
		[
			[-(2 ** 40), 0, 0],
			[4_000_000, 2, 2],
		],
		[
			[0, 0, 0],
			[1, 1, 1],
		],
		[
			[0, 0, 0],
			[1, 1, 1],
		],
		'valid',
		{ readWriteConflict: false },
	);
	const scheduler = new Scheduler(task);
	const exact = (index: readonly number[]) => {
		// the number of a place, in big integers: Cantor's pairing over three axes
		let sum = 0n;
		let number = 0n;
		for (const [axis, entry] of index.entries()) {
			sum += BigInt(entry);
			let choose = 1n;
			for (let k = 0n; k <= BigInt(axis); k++) choose = (choose * (sum + k)) / (k + 1n);
			number += choose;
		}
		return number;
	};
	const last: Block[] = [];
	for (;;) {
		const batch = scheduler.acquireBatch('t', 8192);
		if (batch.length === 0) break;
		last.splice(0, last.length, ...[...batch].slice(-16));
		scheduler.releaseBatch(batch);
	}
	t.is(new Set(last.map(({ id }) => id)).size, 16);
	for (const block of last) {
		t.is(block.number, exact(block.index));
		t.is(block.id, `t/${block.number}`);
		t.is(block.writeRoi.begin[0], -(2 ** 40) + block.index[0]!);
		t.is(JSON.parse(JSON.stringify(block)).number, String(block.number));
		t.true(block.number > 2n ** 63n);
	}
});

test(`${WIDE}: what is no safe integer is refused`, (t) => {
	t.is(new Roi([-1000n, -(2 ** 40)], [1, 1]).offset[0], -1000);
	for (const bad of [Number.NaN, 1.5, 2 ** 53 + 2, '10', null, undefined, 2n ** 64n]) {
		t.throws(() => new Roi([bad as number], [1]), { code: 'ERR_BELLIS_VALIDATION' });
		t.throws(() => new Roi([0], [bad as number]), { code: 'ERR_BELLIS_VALIDATION' });
	}
	t.throws(() => new Roi([], []), { code: 'ERR_BELLIS_VALIDATION' });
});

test(`${EMPTY}: intersections keep a place, and union with nothing changes nothing`, (t) => {
	const box = new Roi([0, 0, 0], [10, 10, 10]);
	const nothing = new Roi([5, 5, 5], [0, 0, 0]);
	const regions = [
		box,
		nothing,
		new Roi([10, 0, 0], [10, 10, 10]),
		new Roi([50, 50, 50], [3, 3, 3]),
	];
	for (const one of regions) {
		for (const other of regions) {
			const both = one.intersect(other);
			t.is(both.dims, 3);
			t.true(both.shape.toArray().every((size) => size >= 0));
			t.true(both.offset.toArray().every(Number.isSafeInteger));
			t.is(one.intersects(other), other.intersects(one));
			t.is(one.intersects(other), !both.empty);
		}
		t.true(one.union(nothing).equals(one) || one === nothing);
		t.true(nothing.union(one).equals(one));
	}
	t.is(typeof box.contains(nothing), 'boolean');
});

test(`${EMPTY}: a task with an empty total has no blocks and ends at once`, async (t) => {
	const scratch = new Scratch(t);
	for (const readWriteConflict of [true, false]) {
		const task = taskOf(
			[
				[0, 0],
				[0, 30],
			],
			[
				[0, 0],
				[10, 10],
			],
			[
				[0, 0],
				[10, 10],
			],
			'shrink',
			{
				readWriteConflict,
				processFunction: () => {},
			},
		);
		t.is(new DependencyGraph(task).blockCount('t'), 0n);
		t.true(new Scheduler(task).states.t!.done);
		const { t: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.like(state!, { total: 0, done: true, workerStarts: 0 });
	}
});
