import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { setTrackingDir } from '../../src/settings.js';
import type { TaskOptions } from '../../src/task/task.js';
import { TrackingStore } from '../../src/tracking/tracking-store.js';
import { line, Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

function stage(t: ExecutionContext) {
	const scratch = new Scratch(t);
	const quiet = { ...scratch.quiet, multiprocessing: false };
	const task = (more: Partial<TaskOptions> = {}) => line(scratch, 2, {}, more);
	const skipped = async (more: Partial<TaskOptions>, options: object) =>
		(await observe(task(more), { ...quiet, ...options })).state.skipped;
	return { scratch, quiet, task, skipped };
}

test.serial('without a place nothing is tracked and nothing is ever skipped', async (t) => {
	const { scratch, skipped } = stage(t);
	t.is(await skipped({}, {}), 0);
	t.is(await skipped({}, {}), 0);
	t.deepEqual(
		readdirSync(scratch.dir).filter((name) => name !== 'logs'),
		['calls'],
	);
});

test.serial(
	'setTrackingDir holds for each task without a path of its own, and null ends it',
	async (t) => {
		const { scratch, skipped } = stage(t);
		setTrackingDir(pathToFileURL(scratch.path('base')));
		try {
			t.is(await skipped({}, {}), 0);
			t.true(existsSync(scratch.path('base/line/zarr.json')));
			t.is(await skipped({}, {}), 2);
			// the more special wins
			t.is(await skipped({ trackingPath: scratch.path('own') }, {}), 0);
			t.is(await skipped({}, { trackingDir: scratch.path('other') }), 0);
			t.true(existsSync(scratch.path('other/line/zarr.json')));
			t.is(await skipped({ trackingPath: false }, {}), 0);
			t.is(await skipped({}, { trackingDir: null }), 0);
			t.is(await skipped({}, { blockTracking: false }), 0);
			t.is(await skipped({ trackingPath: scratch.path('own') }, { blockTracking: false }), 0);
			t.is(await skipped({ trackingPath: scratch.path('own') }, { trackingDir: null }), 2);
		} finally {
			setTrackingDir(null);
		}
		t.is(await skipped({}, {}), 0);
	},
);

test('a run without tracking leaves a store as it is', async (t) => {
	const { scratch, task, quiet } = stage(t);
	const trackingPath = scratch.path('store');
	const first = task({ trackingPath, skipMask: [0, 1] });
	await runBlockwise(first, quiet);
	const before = readFileSync(`${trackingPath}/done/c/0`);
	const runs = readFileSync(`${trackingPath}/runs.jsonl`, 'utf8');
	await runBlockwise(task({ trackingPath }), { ...quiet, blockTracking: false });
	t.deepEqual(readFileSync(`${trackingPath}/done/c/0`), before);
	t.is(readFileSync(`${trackingPath}/runs.jsonl`, 'utf8'), runs);
});

test('a measured task without a place is refused before the run', async (t) => {
	const { scratch, task, quiet } = stage(t);
	const measured = task({ resourceTracking: true });
	await t.throwsAsync(runBlockwise(measured, quiet), {
		code: 'ERR_BELLIS_VALIDATION',
		message: /resourceTracking/,
	});
	t.deepEqual(scratch.lines(), []);
	t.true(await runBlockwise(measured, { ...quiet, blockTracking: false }));
});

test('failed blocks: listed, counted and forgotten by task and by path; done ones stay', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const deeds = { 1: { do: 'throw' } };
	const more = { trackingPath, maxRetries: 1, onBlockError: 'keep-worker' } as const;
	const task = line(scratch, 3, deeds, more);
	t.false(await runBlockwise(task, scratch.quiet));
	t.like(await task.status(), { blocks: 3, done: 2, failed: 1, failedAttempts: 2 });
	const store = await TrackingStore.open(trackingPath);
	for (const blocks of [await task.failedBlocks(), await store.failedBlocks()]) {
		t.is(blocks.length, 1);
		t.deepEqual([blocks[0]!.block!.index, blocks[0]!.attempts], [[1], 2]);
		t.deepEqual(blocks[0]!.block!.writeRoi.toJSON(), { offset: [10], shape: [10] });
	}
	// attempts of all runs add up
	t.false(await runBlockwise(task, scratch.quiet));
	t.is((await task.failedBlocks())[0]!.attempts, 4);
	// A slip must not cost the whole store.
	await t.throwsAsync(store.reset({ faild: true } as object), {
		code: 'ERR_BELLIS_VALIDATION',
		message: 'faild is no option: did you mean failed?',
	});
	t.is(await store.reset({ failed: true }), trackingPath);
	t.like(await task.status(), { done: 2, failed: 0, failedAttempts: 0 });
	// repaired, only what failed runs
	const again = await observe(line(scratch, 3, {}, more), scratch.quiet);
	t.like(again.state, { completed: 3, skipped: 2 });
	t.is(await task.reset(), trackingPath);
	t.false(existsSync(trackingPath));
	t.is((await observe(line(scratch, 3, {}, more), scratch.quiet)).state.skipped, 0);
});

test('a run that completed after failed attempts keeps their number', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const task = line(scratch, 2, { 0: { do: 'throw', once: true } }, { trackingPath });
	t.true(await runBlockwise(task, scratch.quiet));
	t.like(await task.status(), { done: 2, failed: 0, failedAttempts: 1 });
	t.deepEqual(await task.failedBlocks(), []);
});

test('reset removes only what is of a tracking store', async (t) => {
	const { scratch, task, quiet } = stage(t);
	const trackingPath = scratch.path('logs/line');
	// the log folder of the task itself
	const made = task({ trackingPath });
	const run = { ...quiet, multiprocessing: true };
	t.true(await runBlockwise(made, run));
	t.is((await observe(task({ trackingPath }), run)).state.skipped, 2);
	t.is(await made.reset(), trackingPath);
	t.deepEqual(
		readdirSync(trackingPath).filter((name) => !/^worker_\d+\.(out|err)$/.test(name)),
		[],
	);
	t.true(readdirSync(trackingPath).length >= 2);
	// now only logs are there, which are none of a store's
	await t.throwsAsync(runBlockwise(made, run), {
		code: 'ERR_BELLIS_STORE',
		message: /not a tracking store and nothing in it was touched/,
	});
});
