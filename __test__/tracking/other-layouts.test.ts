import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { Block } from '../../src/block.js';
import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import { Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

const ANCHOR =
	'The marker grid is anchored at the context-grown ROI, so cells shift when context >= block';
const OTHER = 'Markers of another geometry are reused; a mask that once skipped can never un-skip';

function line(t: ExecutionContext) {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const ran: number[] = [];
	const task = (more: Partial<TaskOptions> = {}) =>
		new Task({
			taskId: 'line',
			totalRoi: new Roi([0], [40]),
			readRoi: new Roi([0], [10]),
			writeRoi: new Roi([0], [10]),
			readWriteConflict: false,
			trackingPath,
			processFunction: (block) => void ran.push(block.index[0]!),
			...more,
		});
	const run = async (more: Partial<TaskOptions> = {}) => {
		ran.length = 0;
		return (await observe(task(more), { multiprocessing: false })).state;
	};
	return { scratch, trackingPath, task, run, ran };
}

for (const [context, cells, used] of [
	[0, 4, [0, 1, 2, 3]],
	[9, 6, [0, 1, 2, 3]],
	[10, 6, [1, 2, 3, 4]],
	[25, 9, [2, 3, 4, 5]],
] as [number, number, number[]][]) {
	test(`${ANCHOR}: context ${context}`, async (t) => {
		const { trackingPath, task, run, ran } = line(t);
		const more = {
			totalRoi: new Roi([-context], [40 + 2 * context]),
			readRoi: new Roi([-context], [10 + 2 * context]),
		};
		const made = task(more);
		t.deepEqual([...made.trackingGridShape], [cells]);
		const blocks = [0, 1, 2, 3].map((index) => Block.at(made.geometry, index));
		t.deepEqual(
			blocks.map((block) => made.cellOf(block)[0]),
			used,
		);
		t.deepEqual(
			blocks.map((block) => made.maskCellOf(block)[0]),
			[0, 1, 2, 3],
		);
		await run({ ...more, skipMask: [1, 1, 0, 1] });
		t.deepEqual(ran, [2]);
		const done = readFileSync(`${trackingPath}/done/c/0`);
		t.deepEqual(
			[...done.entries()].filter(([, mark]) => mark).map(([cell]) => cell),
			[used[2]!],
		);
		const state = await run(more);
		t.deepEqual([...ran].sort(), [0, 1, 3]);
		t.is(state.skipped, 1);
	});
}

for (const [what, more] of Object.entries<Partial<TaskOptions>>({
	'offset 5': { totalRoi: new Roi([5], [40]) },
	'block 5': { readRoi: new Roi([0], [5]), writeRoi: new Roi([0], [5]) },
	'read context 2': { readRoi: new Roi([-2], [14]), totalRoi: new Roi([-2], [44]) },
	'fit overhang': { fit: 'overhang' },
	'a smaller total': { totalRoi: new Roi([0], [30]) },
	'a larger total at the front by no multiple of the block': { totalRoi: new Roi([-3], [43]) },
})) {
	test(`${OTHER}: ${what} is refused and names the path to delete`, async (t) => {
		const { trackingPath, run, ran, task } = line(t);
		await run();
		const error = await t.throwsAsync(run(more), { code: 'ERR_BELLIS_LAYOUT_MISMATCH' });
		t.true(error!.message.includes(`rm -rf ${trackingPath}`));
		await t.throwsAsync(task(more).status(), { code: 'ERR_BELLIS_LAYOUT_MISMATCH' });
		t.deepEqual(ran, []);
		const state = await run({ ...more, onLayoutMismatch: 'recreate' });
		t.is(state.skipped, 0);
		t.is(ran.length, state.total);
	});
}

test(`${OTHER}: what doesn't change the blocks skips all of them`, async (t) => {
	const { run } = line(t);
	await run();
	t.is((await run({ taskId: 'renamed', maxWorkers: 7, timeoutMs: 5 })).skipped, 4);
	t.is((await run({ maxRetries: 9, readWriteConflict: true })).skipped, 4);
});

test(`${OTHER}: a mask skips for one run only, and what was done stays done`, async (t) => {
	const { run, ran } = line(t);
	t.is((await run({ skipMask: [1, 1, 0, 0] })).skipped, 2);
	t.deepEqual(ran, [2, 3]);
	await run({ skipMask: [0, 0, 0, 0] });
	t.deepEqual(ran, [0, 1]);
	await run();
	t.deepEqual(ran, []);
});

test(`${OTHER}: an empty folder is a new store`, async (t) => {
	const { run, ran, trackingPath } = line(t);
	mkdirSync(trackingPath);
	await run();
	t.is(ran.length, 4);
	t.is((await run()).skipped, 4);
});

for (const [what, file, damage] of [
	['a truncated chunk', 'done/c/0', (path: string) => truncateSync(path, 3)],
	['a chunk one byte too long', 'failures/c/0', (path: string) => truncateSync(path, 17)],
	['a group document of no bytes', 'zarr.json', (path: string) => writeFileSync(path, '')],
	['an array document of no bytes', 'done/zarr.json', (path: string) => writeFileSync(path, '')],
	[
		'half a group document',
		'zarr.json',
		(path: string) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 60)),
	],
] as [string, string, (path: string) => void][]) {
	test(`${OTHER}: ${what} is a clear error`, async (t) => {
		const { trackingPath, run, ran } = line(t);
		await run();
		const path = `${trackingPath}/${file}`;
		damage(path);
		const damaged = readFileSync(path);
		const error = await t.throwsAsync(run(), { code: 'ERR_BELLIS_STORE' });
		t.true(error!.message.includes(path));
		t.regex(error!.message, /delete the store to start fresh/);
		t.deepEqual(ran, []);
		t.deepEqual(readFileSync(path), damaged, 'nothing was repaired behind the back');
	});
}

test('zeroed stretches of the marks cost only that these blocks run again', async (t) => {
	const { trackingPath, run, ran } = line(t);
	await run();
	writeFileSync(`${trackingPath}/done/c/0`, Buffer.from([1, 0, 0, 1]));
	await run();
	t.deepEqual(ran, [1, 2]);
});
