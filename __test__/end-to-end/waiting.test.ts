import test, { type ExecutionContext } from 'ava';
import { LocalLauncher } from '../../src/launchers/local.js';
import { chain, parallel } from '../../src/pipeline.js';
import type { RunEvent } from '../../src/progress/events.js';
import { type RunBlockwiseOptions, runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from './scratch.js';

const CASE = "Why isn't it running?";

/**
 * Carries out a run and looks at what it says about waiting until a line matches. The clock of this process goes a hundred
 * times as fast from `when` on: what is said after ten quiet seconds is said at the next look.
 */
async function waitingLine(
	t: ExecutionContext,
	input: Parameters<typeof runBlockwise>[0],
	options: RunBlockwiseOptions,
	{ when, pattern, end }: { when: Promise<unknown>; pattern: RegExp; end: () => void },
): Promise<void> {
	const now = performance.now;
	let began = Number.POSITIVE_INFINITY;
	performance.now = () => {
		const real = now.call(performance);
		return real + 100 * Math.max(0, real - began);
	};
	const seen: string[] = [];
	const done = () => {
		end();
		performance.now = now;
	};
	const onEvent = (event: RunEvent) => {
		if (event.type !== 'notice' || event.code !== 'waiting') return;
		seen.push(event.message);
		if (pattern.test(event.message)) done();
	};
	t.teardown(done);
	const run = runBlockwise(input, { ...options, progress: { onEvent } });
	await Promise.race([when, run]);
	began = now.call(performance);
	t.true(await run, seen.join('\n'));
	t.regex(seen.at(-1) ?? '', pattern);
	for (const text of seen) t.notRegex(text, /\n/);
}

test.serial(`${CASE} Workers are starting`, async (t) => {
	const scratch = new Scratch(t);
	const local = new LocalLauncher();
	let open = () => {};
	const gate = new Promise<void>((resolve) => {
		open = resolve;
	});
	let asked = () => {};
	const when = new Promise<void>((resolve) => {
		asked = resolve;
	});
	const launcher = {
		start: async (...given: Parameters<LocalLauncher['start']>) => {
			asked();
			await gate;
			return local.start(...given);
		},
	};
	await waitingLine(t, line(scratch, 3, {}, { launcher }), scratch.quiet, {
		when,
		pattern:
			/^nothing has finished for \d+ s: task 'line' waits for 1 worker to start \(3 ready blocks\)$/,
		end: open,
	});
});

test.serial(`${CASE} The oldest block, and a task that waits for another`, async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const a = line(scratch, 3, { 1: { do: 'gate', file } }, { taskId: 'a' });
	const b = line(
		scratch,
		1,
		{},
		{ taskId: 'b', totalRoi: a.totalRoi, readRoi: a.totalRoi, writeRoi: a.totalRoi },
	);
	await waitingLine(t, chain(a, b), scratch.quiet, {
		when: scratch.made('gate.waits.1'),
		pattern:
			/^nothing has finished for \d+ s: (1 block is running, a\/1 on worker 0|2 blocks are running, the oldest, a\/1, on worker 0) for \d+ s; task 'b' waits for task 'a'$/,
		end: () => scratch.open('gate'),
	});
});

test.serial(`${CASE} Resources are in other hands`, async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const requires = { gpu: 1 };
	const a = line(scratch, 1, { 0: { do: 'gate', file } }, { taskId: 'a', requires, priority: 1 });
	const b = line(scratch, 2, {}, { taskId: 'b', requires });
	await waitingLine(
		t,
		parallel(a, b),
		{ ...scratch.quiet, resources: requires },
		{
			when: scratch.made('gate.waits.0'),
			pattern:
				/: 1 block is running, a\/0 on worker 0 for \d+ s; task 'b' waits for resources: gpu \(1 a worker, 1 in all\), held by workers of task 'a'$/,
			end: () => scratch.open('gate'),
		},
	);
});

test.serial(`${CASE} A block waits before it is tried again`, async (t) => {
	const scratch = new Scratch(t);
	const controller = new AbortController();
	const task = line(scratch, 1, { 0: { do: 'throw', once: true } }, { retryDelayMs: 3_600_000 });
	const run = waitingLine(
		t,
		task,
		{ ...scratch.quiet, signal: controller.signal },
		{
			when: scratch.made('calls.once.0'),
			pattern: /^nothing has finished for \d+ s: task 'line' waits before it tries 1 block again$/,
			end: () => controller.abort(new Error('seen')),
		},
	);
	await t.throwsAsync(run, { message: 'seen' });
});
