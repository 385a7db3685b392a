import { readFileSync } from 'node:fs';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';

import { fixture, gone, line, Scratch } from './scratch.js';

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
