import { existsSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { chain } from '../../src/pipeline.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import type { Task } from '../../src/task/task.js';
import { line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const HANGS = 'Hangs when there is nothing to do';
const LAST_TASK = 'Only the last task was given; its upstream tasks were not run';

/** Upstream and downstream tasks of the same blocks, with stores. */
function pair(t: ExecutionContext, blocks = 4) {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	const a = (more = {}): Task => line(scratch, blocks, {}, { taskId: 'a', ...more });
	const b = (more = {}): Task => line(scratch, blocks, {}, { taskId: 'b', ...more });
	return { scratch, options, a, b };
}

test(`${HANGS}: a downstream task runs when all of its upstream task was done before`, async (t) => {
	const { scratch, options, a, b } = pair(t);
	t.true(await runBlockwise(a(), options));
	const states = await new Server().runBlockwise(chain(a(), b()), options);
	t.is(states.a!.skipped, 4);
	t.is(states.a!.workerStarts, 0);
	t.is(states.b!.completed, 4);
	t.is(states.b!.skipped, 0);
	t.is(scratch.lines().length, 8);
});

test(`${HANGS}: a rerun in which all is done starts no worker`, async (t) => {
	const { scratch, options, a, b } = pair(t);
	t.true(await runBlockwise(chain(a(), b()), options));
	const calls = scratch.lines().length;
	const states = await new Server().runBlockwise(chain(a(), b()), options);
	for (const state of [states.a!, states.b!]) {
		t.is(state.skipped, 4);
		t.is(state.completed, 4);
		t.is(state.workerStarts, 0);
	}
	t.is(scratch.lines().length, calls);
});

test(`${HANGS}: only the last block of a chain is left`, async (t) => {
	const { scratch, options, a, b } = pair(t);
	t.true(await runBlockwise(chain(a(), b({ skipMask: [0, 0, 0, 1] })), options));
	t.is(scratch.lines().length, 7);
	const states = await new Server().runBlockwise(chain(a(), b()), options);
	t.is(states.b!.skipped, 3);
	t.is(states.b!.completed, 4);
	t.is(scratch.lines().length, 8);
});

test(`${HANGS}: more workers than blocks: no more are started than there are blocks`, async (t) => {
	const { scratch, options, a } = pair(t, 2);
	const states = await new Server().runBlockwise(a({ maxWorkers: 10 }), options);
	t.is(states.a!.completed, 2);
	t.true(states.a!.workerStarts <= 2);
	t.is(scratch.lines().length, 2);
});

test(`${HANGS}: an upstream task without blocks is refused, or allowed by the downstream task`, async (t) => {
	const { scratch, options, a, b } = pair(t, 1);
	const empty = () => a({ totalRoi: new Roi([0], [3]) });
	await t.throwsAsync(runBlockwise(chain(empty(), b()), options), {
		code: 'ERR_BELLIS_UNCOVERED',
	});
	t.false(existsSync(scratch.path('stores')));
	t.false(existsSync(scratch.path('logs')));
	const notices: string[] = [];
	const states = await new Server().runBlockwise(chain(empty(), b({ allowUncovered: true })), {
		...options,
		progress: {
			onEvent: (event) => {
				if (event.type === 'notice') notices.push(`${event.taskId} ${event.code}`);
			},
		},
	});
	t.is(states.a!.total, 0);
	t.true(states.a!.done);
	t.is(states.b!.completed, 1);
	t.deepEqual(
		notices.filter((notice) => notice.endsWith('no-blocks')),
		['a no-blocks'],
	);
});

test('nothing at all is a success', async (t) => {
	t.true(await runBlockwise([]));
	t.deepEqual(await runBlockwise([], { returnStates: true }), {});
});

test(`${LAST_TASK}: an array adds no edges and runs the same task once; a chain waits`, async (t) => {
	const { scratch, options, a, b } = pair(t);
	const task = a();
	t.true(await runBlockwise([task, b(), task], options));
	t.is(scratch.lines().length, 8);
});

test(`${LAST_TASK}: two tasks with one id, and a cycle, are refused before anything starts`, async (t) => {
	const { scratch, options, a, b } = pair(t);
	await t.throwsAsync(runBlockwise([a(), a()], options), { code: 'ERR_BELLIS_PIPELINE' });
	const [first, second] = [a(), b()];
	await t.throwsAsync(runBlockwise(chain(first, second, first), options), {
		code: 'ERR_BELLIS_PIPELINE',
		message: /cycle/,
	});
	t.false(existsSync(scratch.path('stores')));
});
