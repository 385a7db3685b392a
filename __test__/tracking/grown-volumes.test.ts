import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { LayoutMismatchError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import { TrackingStore } from '../../src/tracking/tracking-store.js';
import { fixture, Scratch } from '../end-to-end/scratch.js';
import { readArrays } from './arrays.js';
import { observe } from './observed-run.js';

type Region = readonly [offset: number[], shape: number[]];

/** 2-D tasks over a total, 10 x 10 blocks with context, and the write offsets of the blocks that ran. */
function volume(t: ExecutionContext, given: Partial<TaskOptions> = {}) {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const ran: string[] = [];
	const task = ([offset, shape]: Region, more: Partial<TaskOptions> = {}) =>
		new Task({
			taskId: 'volume',
			totalRoi: new Roi(offset, shape),
			readRoi: new Roi([0, 0], [14, 14]),
			writeRoi: new Roi([2, 2], [10, 10]),
			readWriteConflict: false,
			resourceTracking: true,
			trackingPath,
			processFunction: (block) => void ran.push(block.writeRoi.offset.toArray().join(',')),
			...given,
			...more,
		});
	const run = async (region: Region, more: Partial<TaskOptions> = {}) => {
		ran.length = 0;
		return observe(task(region, more), { multiprocessing: false });
	};
	return { scratch, trackingPath, task, run, ran };
}

/** A total around 10 x 10 blocks that write from `first` on. */
const around = (first: number[], blocks: number[]): Region => [
	first.map((value) => value - 2),
	blocks.map((count) => 10 * count + 4),
];

for (const multiprocessing of [false, true]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`a volume that grew at every end goes on, and says how many blocks stay done: ${how}`, async (t) => {
		const { scratch, trackingPath, task } = volume(t);
		const run = (region: Region) =>
			observe(task(region, { processFunction: fixture('noop.js'), maxWorkers: 1, execArgv: [] }), {
				multiprocessing,
				logDir: scratch.path('logs'),
			});
		const first = await run(around([0, 0], [3, 2]));
		t.like(first.state, { completed: 6, skipped: 0 });
		t.deepEqual(Object.keys(first.notices), []);
		const before = await readArrays(trackingPath);
		const grown = await run(around([-10, -20], [5, 5]));
		t.like(grown.state, { completed: 25, skipped: 6 });
		t.regex(grown.notices.migrated!, /6 done blocks were kept/);
		t.true(grown.notices.migrated!.includes(trackingPath));
		const after = await readArrays(trackingPath);
		t.deepEqual([...after.done!.shape], [6, 6]);
		for (const [name, { values }] of Object.entries(after)) {
			const kept = [0, 1, 2].flatMap((row) => [0, 1].map((col) => values[(row + 1) * 6 + col + 2]));
			const was = [0, 1, 2].flatMap((row) =>
				[0, 1].map((col) => before[name]!.values[row * 3 + col]),
			);
			t.deepEqual(kept, was, name);
		}
		// the reports of both runs are there
		const report = await task(around([-10, -20], [5, 5])).report();
		t.is(report.earlier.length, 1);
		// the store is one of daisy's again, and a third run finds everything done
		const third = await run(around([-10, -20], [5, 5]));
		t.like(third.state, { completed: 25, skipped: 25, workerStarts: 0 });
		t.deepEqual(Object.keys(third.notices), ['resumed']);
		t.false(existsSync(scratch.path('.store.bellis-new')));
		t.false(existsSync(scratch.path('.store.bellis-old')));
	});
}

test('a block that the old border cut runs again', async (t) => {
	const { run, ran } = volume(t, { fit: 'shrink' });
	await run([
		[-2, -2],
		[29, 14],
	]);
	t.deepEqual(ran, ['0,0', '10,0', '20,0']);
	const { state, notices } = await run([
		[-2, -2],
		[44, 14],
	]);
	t.deepEqual(ran, ['20,0', '30,0']);
	t.is(state.skipped, 2);
	t.regex(notices.migrated!, /2 done blocks were kept, 1 run again because their regions changed/);
});

test('growth at the front by a part of a block is refused with the nearest valid offset', async (t) => {
	const { run, ran, trackingPath } = volume(t);
	await run(around([0, 0], [2, 2]));
	const error = await t.throwsAsync<LayoutMismatchError>(
		run([
			[-16, -2],
			[38, 24],
		]),
		{ code: 'ERR_BELLIS_LAYOUT_MISMATCH' },
	);
	t.deepEqual([...error!.fields], ['totalRoi.offset']);
	t.regex(error!.message, /nearest valid totalRoi\.offset is \[-12, -2\]/);
	t.true(error!.message.includes(trackingPath));
	t.deepEqual(ran, []);
	t.like(await (await TrackingStore.open(trackingPath)).status(), { done: 4 });
});

for (const [what, region, more, fields] of [
	['shrunk', around([0, 0], [2, 1]), {}, ['totalRoi.shape']],
	['moved', around([10, 0], [2, 2]), {}, ['totalRoi.offset']],
	[
		'grown with other blocks',
		around([0, 0], [3, 3]),
		{ readRoi: new Roi([0, 0], [9, 14]), writeRoi: new Roi([2, 2], [5, 10]) },
		['totalRoi.shape', 'readRoi.shape', 'writeRoi.shape'],
	],
	[
		'grown with another context',
		around([0, 0], [3, 3]),
		{ readRoi: new Roi([1, 0], [13, 14]) },
		['totalRoi.shape', 'readRoi.offset', 'readRoi.shape'],
	],
	[
		'grown with another fit',
		around([0, 0], [3, 3]),
		{ fit: 'overhang' },
		['totalRoi.shape', 'fit'],
	],
] as [string, Region, Partial<TaskOptions>, string[]][]) {
	test(`a volume that is ${what} is refused with the fields and the path, and starts fresh when asked`, async (t) => {
		const { run, ran, trackingPath, task } = volume(t);
		await run(around([0, 0], [2, 2]));
		const error = await t.throwsAsync<LayoutMismatchError>(run(region, more), {
			code: 'ERR_BELLIS_LAYOUT_MISMATCH',
		});
		t.deepEqual([...error!.fields], fields);
		t.is(error!.path, trackingPath);
		t.is(error!.expected, task(region, more).layoutHash);
		t.is(error!.stored, task(around([0, 0], [2, 2])).layoutHash);
		t.true(error!.message.includes(`rm -rf ${trackingPath}`));
		for (const field of fields) t.true(error!.message.includes(field));
		t.deepEqual(ran, []);
		const fresh = await run(region, { ...more, onLayoutMismatch: 'recreate' });
		t.is(fresh.state.skipped, 0);
		t.is(ran.length, fresh.state.total);
		t.regex(fresh.notices.recreated!, /started fresh/);
	});
}

test('a store that holds only a hash goes on where grownFrom names the old total', async (t) => {
	const { run, ran, trackingPath } = volume(t);
	const old = around([0, 0], [2, 2]);
	await run(old);
	// as daisy leaves it: without our attribute
	const document = JSON.parse(readFileSync(`${trackingPath}/zarr.json`, 'utf8'));
	delete document.attributes.bellis;
	writeFileSync(`${trackingPath}/zarr.json`, JSON.stringify(document));
	const region = around([0, -10], [3, 3]);
	await t.throwsAsync(run(region), {
		code: 'ERR_BELLIS_LAYOUT_MISMATCH',
		message: /pass grownFrom with the old totalRoi/,
	});
	await t.throwsAsync(run(region, { grownFrom: new Roi([0, 0], [24, 24]) }), {
		code: 'ERR_BELLIS_LAYOUT_MISMATCH',
		message: /grownFrom does not give the stored hash/,
	});
	t.deepEqual(ran, []);
	const { state, notices } = await run(region, { grownFrom: new Roi(...old) });
	t.is(state.skipped, 4);
	t.is(ran.length, 5);
	t.regex(notices.migrated!, /4 done blocks were kept/);
	// named once more it does no harm
	t.is((await run(region, { grownFrom: new Roi(...old) })).state.skipped, 9);
});
