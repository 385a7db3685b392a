import { existsSync, readdirSync } from 'node:fs';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import type { RunEvent } from '../../src/progress/events.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { SubmittingLauncher } from './cluster.js';
import { Driver } from './driver.js';
import { fixture, line, Scratch } from './scratch.js';

// What the migration guide of daisy 2 tells apart from daisy 1, as far as no other test here has it.

for (const mode of ['block function', 'worker function', 'submitted worker', 'serial'] as const) {
	test(`512 blocks in 3-D that read their neighbours run once each, as regions and coordinates (${mode})`, async (t) => {
		const scratch = new Scratch(t);
		const own = mode === 'worker function';
		const task = line(
			scratch,
			0,
			{},
			{
				totalRoi: new Roi([-2, -2, -2], [36, 36, 36]),
				readRoi: new Roi([-2, -2, -2], [8, 8, 8]),
				writeRoi: new Roi([0, 0, 0], [4, 4, 4]),
				readWriteConflict: true,
				processFunction: own ? undefined : fixture('regions.js'),
				...(own && { workerFunction: { module: fixture('regions.js'), export: 'work' } }),
				...(mode === 'submitted worker' && { launcher: new SubmittingLauncher(t) }),
				// in this process the package is loaded from its sources
				config: { calls: scratch.calls, otherCopy: mode === 'serial' },
				maxWorkers: 2,
			},
		);
		const multiprocessing = mode !== 'serial';
		t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing }));
		const lines = scratch.lines();
		t.is(lines.length, 512);
		t.is(new Set(lines).size, 512);
		t.true(lines.every((text) => text.endsWith(' true')));
	});
}

test('20 bad blocks of 2,000 on 4 workers: given up after the 14 workers that a task may start', async (t) => {
	const bad = Array.from({ length: 20 }, (_, i) => 50 + 90 * i);
	const make = (scratch: Scratch, more = {}) =>
		line(
			scratch,
			2000,
			{},
			{
				processFunction: { module: fixture('noop.js'), export: 'throwsAt' },
				config: { bad },
				maxWorkers: 4,
				maxRetries: 2,
				...more,
			},
		);
	const scratch = new Scratch(t);
	const { line: state } = await new Server().runBlockwise(make(scratch), scratch.quiet);
	t.true(state!.abandoned);
	t.is(state!.workerStarts, 14);
	t.is(state!.workerFailures, 14);
	t.is(state!.completed + state!.failed + state!.orphaned, 2000);
	t.true(state!.orphaned > 0);
	await t.throwsAsync(runBlockwise(make(scratch), scratch.quiet), {
		code: 'ERR_BELLIS_ABANDONED',
	});

	const kept = new Scratch(t);
	const states = await runBlockwise(make(kept, { onBlockError: 'keep-worker' }), {
		...kept.quiet,
		returnStates: true,
	});
	t.deepEqual([states.line!.completed, states.line!.failed], [1980, 20]);
});

test('a submitted worker that fails every block: a job for each failure until no start is left', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new SubmittingLauncher(t);
	const options = { launcher, maxWorkerRestarts: 3, maxRetries: 0 };
	const task = line(scratch, 12, { all: { do: 'throw' } }, options);
	const error = await t.throwsAsync(runBlockwise(task, scratch.quiet));
	if (!isBellisError(error, 'ERR_BELLIS_ABANDONED')) return t.fail(String(error));
	t.is(launcher.started.length, 4);
	t.is(scratch.lines().length, 4);
	t.deepEqual([error.orphaned, error.total], [8, 12]);
	return undefined;
});

test('a block that fails when its neighbour has nothing to do any more: nothing hangs, the counts add up', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const deeds = { 1: { do: 'gateThrow', file } };
	const options = { maxWorkers: 2, maxWorkerRestarts: 0, maxRetries: 2 };
	const run = new Server().runBlockwise(line(scratch, 2, deeds, options), scratch.quiet);
	await scratch.made('gate.waits.1');
	scratch.open('gate');
	const { line: state } = await run;
	t.is(state!.completed, 1);
	t.is(state!.failed + state!.orphaned, 1);
	t.true(state!.workerStarts <= 2);
});

for (const value of [[true], 'yes', 1, {}, null, new Boolean(true)]) {
	test(`a check function that answers with ${typeof value} ${JSON.stringify(value)} instead of a boolean: told once, the block runs`, async (t) => {
		const scratch = new Scratch(t);
		const warnings: RunEvent[] = [];
		const checkFunction = (() => value) as unknown as () => boolean;
		const { line: state } = await new Server().runBlockwise(
			line(scratch, 5, {}, { checkFunction }),
			{
				...scratch.quiet,
				progress: {
					onEvent: (event) => {
						if (event.type === 'notice' && event.level === 'warning') warnings.push(event);
					},
				},
			},
		);
		t.deepEqual([state!.completed, state!.skipped, state!.checkErrors], [5, 0, 5]);
		t.is(warnings.length, 1);
	});
}

test('every block done before: the summary says so in its column of skipped blocks', async (t) => {
	const scratch = new Scratch(t);
	const run = { progress: false };
	await new Driver(t, scratch, { blocks: 7, deeds: {}, run }).ended();
	const again = new Driver(t, scratch, { blocks: 7, deeds: {}, run });
	t.is(await again.ended(), 0);
	t.regex(again.out, /task\s+blocks\s+completed\s+skipped\s+failed/);
	t.regex(again.out, /line ✔\s+7\s+7\s+7\s+0/);
	t.is(scratch.lines().length, 7);
});

test('without a log directory a submitted worker is told of none, and writes none', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new SubmittingLauncher(t);
	const task = line(
		scratch,
		2,
		{},
		{
			launcher,
			processFunction: undefined,
			workerFunction: { module: fixture('regions.js'), export: 'saysLogDir' },
			execArgv: [],
		},
	);
	const here = existsSync('None') || existsSync('null');
	t.true(await runBlockwise(task, { ...scratch.quiet, logDir: null }));
	t.deepEqual(scratch.lines(), ['null null', 'block', 'block']);
	t.is(existsSync('None') || existsSync('null'), here);
	t.deepEqual(readdirSync(scratch.dir), ['calls']);
});

test('a log directory with colons and equals signs reaches a submitted worker', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new SubmittingLauncher(t);
	const logDir = scratch.path('logs:a=b%3A');
	const task = line(
		scratch,
		1,
		{},
		{
			launcher,
			processFunction: undefined,
			workerFunction: { module: fixture('regions.js'), export: 'saysLogDir' },
		},
	);
	t.true(await runBlockwise(task, { ...scratch.quiet, logDir }));
	t.deepEqual(scratch.lines(), [`${logDir} ${logDir}`, 'block']);
});

test('20,000 blocks done before are skipped by their store, and nobody is asked', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	const make = (more = {}) =>
		line(scratch, 20_000, {}, { processFunction: fixture('noop.js'), ...more });
	t.true(await runBlockwise(make(), options));
	let asked = 0;
	const checkFunction = () => {
		asked++;
		return true;
	};
	const began = performance.now();
	const states = await runBlockwise(make({ checkFunction }), { ...options, returnStates: true });
	t.deepEqual(
		[states.line!.completed, states.line!.skipped, states.line!.workerStarts, asked],
		[20_000, 20_000, 0, 0],
	);
	t.log(`${(performance.now() - began).toFixed(1)} ms`);
});
