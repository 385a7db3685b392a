import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Server } from '../../src/run/server.js';
import { fixture, line, Scratch } from './scratch.js';

/** Title of the difficulty that these tests are about. */
const POISON = "Poison blocks, and innocent blocks blamed for a neighbour's crash";

/** Blocks of a microsecond or two: hundreds are in a worker's hands when one of them kills it. */
const storm = (scratch: Scratch, blocks: number, poison: Record<string, unknown>, more = {}) =>
	line(
		scratch,
		blocks,
		{},
		{
			processFunction: { module: fixture('storm.js'), export: 'act' },
			config: { calls: scratch.calls, ...poison },
			maxWorkers: 4,
			maxRetries: 2,
			...more,
		},
	);

for (const how of ['abort', 'kill', 'exit', 'stop', 'cut']) {
	test(`${POISON}: among thousands of shortest blocks (${how})`, async (t) => {
		const scratch = new Scratch(t);
		const task = storm(scratch, 20_000, { how, at: [7_000, 15_000] });
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [19_998, 2, 6]);
		const { 7000: one, 15000: two, ...others } = scratch.callsOf();
		t.deepEqual([one, two], [3, 3]);
		t.is(Object.keys(others).length, 19_998);
		t.true(Object.values(others).every((calls) => calls === 1));
	});
}

test(`${POISON}: measured blocks keep what was measured`, async (t) => {
	const scratch = new Scratch(t);
	const task = storm(
		scratch,
		2_000,
		{ how: 'abort', at: [1_000] },
		{
			trackingPath: scratch.path('store'),
			resourceTracking: true,
			maxWorkers: 2,
		},
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [1_999, 1, 3]);
	const { 1000: poison, ...others } = scratch.callsOf();
	t.is(poison, 3);
	t.true(Object.values(others).every((calls) => calls === 1));
	const report = await task.report();
	t.is(report.resources!.wallSeconds.count, 1_999);
});

test(`${POISON}: several blocks at once in one worker`, async (t) => {
	const scratch = new Scratch(t);
	const task = storm(
		scratch,
		500,
		{ how: 'abort', at: [250] },
		{
			processFunction: { module: fixture('storm.js'), export: 'actLater' },
			concurrency: 4,
			maxWorkers: 2,
		},
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed], [499, 1]);
	const { 250: poison, ...others } = scratch.callsOf();
	// in company it loses no try
	t.true(poison! >= 3 && poison! <= 4, `${poison} calls`);
	// only its company runs again
	const again = Object.values(others).filter((calls) => calls > 1);
	t.true(again.length <= 3, `${again}`);
	t.true(again.every((calls) => calls === 2));
});

test('what a killed driver left of its notes is removed by the next run', async (t) => {
	const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
	const left = join(parent, `.bellis-notes-${process.pid}-left`);
	mkdirSync(left, { mode: 0o700 });
	const scratch = new Scratch(t);
	const { line: state } = await new Server().runBlockwise(
		storm(scratch, 100, { how: 'none', at: [] }),
		scratch.quiet,
	);
	t.is(state!.completed, 100);
	t.false(existsSync(left));
});
