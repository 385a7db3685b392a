import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { Block } from '../../src/block.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { TrackingStore } from '../../src/tracking/tracking-store.js';
import { line, Scratch } from './scratch.js';

test('a run is recorded in the store, and read back by task and by path', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('line');
	const options = { trackingPath, resourceTracking: true, maxWorkers: 2 };
	const deeds = { 1: { do: 'throw', once: true } };
	const task = line(scratch, 4, deeds, options);
	t.true(await runBlockwise(task, scratch.quiet));

	const report = await task.report();
	t.like(report.blocks, { total: 4, completed: 4, skipped: 0, executed: 4, failedAttempts: 1 });
	t.is(report.roundTrip.count, 4);
	t.is(report.workers.compute.count, 5, 'failed attempts included');
	const workers = Object.values(report.workers.byId);
	t.is(
		workers.reduce((sum, worker) => sum + worker.blocks, 0),
		5,
	);
	t.is(report.workers.starts, workers.length);
	t.true(report.finishedAt >= report.startedAt);
	t.is(report.resources?.wallSeconds.count, 4);
	const record = await report.block(Block.at(task.geometry, 1));
	t.like(record, { done: true, failures: 1 });
	t.true(record!.sentAt! <= record!.returnedAt!);
	t.truthy(report.worker(record!.workerId!));

	t.true(await runBlockwise(task, scratch.quiet));
	const later = await (await TrackingStore.open(trackingPath)).report();
	t.like(later.blocks, { completed: 4, skipped: 4, executed: 0 });
	t.is(later.earlier.length, 1);
	t.is(later.earlier[0]!.runId, report.runId);
	t.like(await task.status(), { done: 4, blocks: 4, failed: 0, failedAttempts: 1, heldBy: null });
});

test('a task without a store is recorded beside its logs', async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 2);
	t.true(await runBlockwise(task, scratch.quiet));
	const { logDir } = scratch.quiet;
	t.like((await task.report({ logDir })).blocks, { total: 2, completed: 2 });
	t.true(existsSync(`${logDir}/line/runs.jsonl`));
	t.is(readFileSync(`${logDir}/line/runs.jsonl`, 'utf8').trimEnd().split('\n').length, 1);
});

test('failures are remembered, and forgotten when told so', async (t) => {
	const scratch = new Scratch(t);
	const options = { trackingPath: scratch.path('line'), maxRetries: 1 };
	const task = line(scratch, 3, { 2: { do: 'throw' } }, options);
	t.false(await runBlockwise(task, scratch.quiet));
	const [failed, ...others] = await task.failedBlocks();
	t.deepEqual(others, []);
	t.like(failed, { id: 'line/2', attempts: 2 });
	t.deepEqual([...failed!.block!.index], [2]);
	t.is(await task.reset({ failed: true }), scratch.path('line'));
	t.like(await task.status(), { done: 2, failed: 0, failedAttempts: 0 });
	t.is(await task.reset(), scratch.path('line'));
	t.like(await task.status(), { exists: false, done: 0 });
});
