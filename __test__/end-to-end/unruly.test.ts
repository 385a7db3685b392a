import { readFileSync } from 'node:fs';
import test from 'ava';
import type { LaunchSpec } from '../../src/launchers/launcher.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';

import { fixture, gone, line, lives, Scratch } from './scratch.js';

for (const inHand of [true, false]) {
	for (const code of [0, 5]) {
		test(`a worker function that exits with code ${code} ${inHand ? 'with a block in hand' : 'between two blocks'}`, async (t) => {
			const scratch = new Scratch(t);
			const task = line(
				scratch,
				5,
				{},
				{
					processFunction: undefined,
					workerFunction: { module: fixture('exits.js'), export: 'exitsFromOwnLoop' },
					config: { calls: scratch.calls, code, inHand },
					maxRetries: 1,
				},
			);
			const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
			t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [5, 0, inHand ? 1 : 0]);
			t.deepEqual(scratch.callsOf(), { 0: 1, 1: inHand ? 2 : 1, 2: 1, 3: 1, 4: 1 });
		});
	}
}

const ENDS = [
	[
		'exit',
		true,
		'ProcessExit',
		/^the worker's process exited with code 5 in the middle of the block$/,
	],
	['exit', false, 'ProcessExit', /^the worker's process exited with code 5 with no block in hand$/],
	['throw', true, 'RangeError', /^boom$/],
	['throw', false, 'RangeError', /^boom$/],
	['stray', true, 'Error', /^stray$/],
	['stray', false, 'Error', /^stray$/],
	['return', true, 'LeftInHand', /^the worker function ended with the block in hand/],
] as const;
for (const [how, inHand, name, message] of ENDS) {
	const where = inHand ? 'with a block in hand' : 'between blocks';
	test(`why a worker ended is told: ${how} ${where}`, async (t) => {
		const scratch = new Scratch(t);
		const task = line(
			scratch,
			5,
			{},
			{
				processFunction: undefined,
				workerFunction: { module: fixture('exits.js'), export: 'exitsFromOwnLoop' },
				config: { calls: scratch.calls, code: 5, how, inHand },
				maxRetries: 0,
			},
		);
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.deepEqual([state!.completed, state!.failed], inHand ? [4, 1] : [5, 0]);
		t.true(state!.firstError!.startsWith(`${name}: `), state!.firstError!);
		t.regex(state!.firstError!.slice(name.length + 2).split('\n')[0]!, message);
		if (!inHand) return;
		const [failure] = state!.failures;
		t.deepEqual([failure!.block!.index, failure!.name], [[1], name]);
		t.regex(failure!.message, message);
	});
}

test('of several blocks at once the one that is left is to blame for an exit', async (t) => {
	const scratch = new Scratch(t);
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: { module: fixture('exits.js'), export: 'exitsInCompany' },
			concurrency: 2,
			maxRetries: 0,
		},
	);
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed], [1, 1]);
	t.deepEqual(state!.failures[0]!.block!.index, [0]);
	t.is(state!.failures[0]!.name, 'ProcessExit');
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1 });
});

/** Its first process never becomes a worker. */
class DeafLauncher extends LocalLauncher {
	deaf = 0;

	override async start(spec: LaunchSpec, signal: AbortSignal) {
		if (spec.workerId !== 0) return super.start(spec, signal);
		const handle = await super.start(
			{ ...spec, args: ['-e', 'setInterval(() => {}, 1e6)'] },
			signal,
		);
		this.deaf = handle.pid!;
		return handle;
	}
}

test('a process that never came to work is gone with the run', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new DeafLauncher();
	t.true(await runBlockwise(line(scratch, 2, {}, { launcher, maxWorkers: 2 }), scratch.quiet));
	t.true(launcher.deaf > 0);
	t.false(lives(launcher.deaf));
});

test('a worker that ignores SIGTERM, and the program that it started, are gone with the run', async (t) => {
	const scratch = new Scratch(t);
	const pids = scratch.path('pids');
	const task = line(
		scratch,
		2,
		{},
		{
			processFunction: { module: fixture('stubborn.js'), export: 'default' },
			config: { pids, file: scratch.path('gate') },
			maxWorkers: 2,
		},
	);
	const controller = new AbortController();
	const run = runBlockwise(task, {
		...scratch.quiet,
		signal: controller.signal,
		shutdownGraceMs: 200,
	});
	await scratch.madeLike(/^gate\.waits\./, 2);
	controller.abort(new Error('enough'));
	await t.throwsAsync(run, { message: 'enough' });
	await gone(readFileSync(pids, 'utf8').trimEnd().split('\n').map(Number));
	t.pass();
});

test.serial('a signal while another run of the process goes on stops both, once', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const make = (taskId: string) =>
		line(scratch, 1, { 0: { do: 'gate', file: `${file}.${taskId}` } }, { taskId });
	const runs = ['a', 'b'].map((id) =>
		runBlockwise(make(id), { ...scratch.quiet, shutdownGraceMs: 0 }),
	);
	const both = Promise.allSettled(runs);
	await scratch.madeLike(/waits/, 2);
	process.kill(process.pid, 'SIGINT');
	for (const end of await both) {
		t.is(end.status, 'rejected');
		if (end.status === 'rejected')
			t.like(end.reason, { code: 'ERR_BELLIS_INTERRUPTED', exitCode: 130 });
	}
});
