import { existsSync } from 'node:fs';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from './scratch.js';

test('a worker that needs more than the run has is refused before anything starts, with the amount to give', async (t) => {
	const scratch = new Scratch(t);
	const task = () => line(scratch, 1, {}, { requires: { gpu: 2 } });
	for (const resources of [{}, { gpu: 1 }] as Record<string, number>[]) {
		const error = await t.throwsAsync(runBlockwise(task(), { ...scratch.quiet, resources }));
		if (!isBellisError(error, 'ERR_BELLIS_VALIDATION')) return t.fail(String(error));
		t.is(error.path, 'tasks[0].requires');
		t.regex(error.message, /resources: \{ gpu: 2 \}/);
	}
	t.false(existsSync(scratch.path('logs')));
	t.true(await runBlockwise(task(), { ...scratch.quiet, resources: { gpu: 2 } }));
	return undefined;
});

test('measurements without a place for them are refused', async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 1, {}, { resourceTracking: true });
	await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_VALIDATION',
		message: /tasks\[0\]\.resourceTracking .* trackingPath/,
	});
});

test('two tasks with one tracking directory are refused', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const tasks = ['a', 'b'].map((taskId) => line(scratch, 1, {}, { taskId, trackingPath }));
	await t.throwsAsync(runBlockwise(tasks, scratch.quiet), {
		code: 'ERR_BELLIS_VALIDATION',
		message: /"a" and "b" have the same tracking directory/,
	});
	t.false(existsSync(trackingPath));
});

test('a store that another live run holds is refused, and free after it', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	const first = runBlockwise(line(scratch, 1, { 0: { do: 'gate', file } }), options);
	await scratch.made('gate.waits.0');
	await t.throwsAsync(runBlockwise(line(scratch, 1), options), { code: 'ERR_BELLIS_STORE_LOCKED' });
	scratch.open('gate');
	t.true(await first);
	t.true(await runBlockwise(line(scratch, 1), options));
	t.is(scratch.lines().length, 1);
});

test('a store of another layout is refused, or replaced where the task says so', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	t.true(await runBlockwise(line(scratch, 2), options));
	const shrunk = (more = {}) => line(scratch, 1, {}, more);
	const error = await t.throwsAsync(runBlockwise(shrunk(), options));
	if (!isBellisError(error, 'ERR_BELLIS_LAYOUT_MISMATCH')) return t.fail(String(error));
	t.is(error.path, scratch.path('stores/line'));
	t.is(scratch.lines().length, 2);
	t.true(await runBlockwise(shrunk({ onLayoutMismatch: 'recreate' }), options));
	t.is(scratch.lines().length, 3);
	return undefined;
});

test('a rim that no block writes is told once', async (t) => {
	const scratch = new Scratch(t);
	const notices: string[] = [];
	const task = line(scratch, 0, {}, { totalRoi: new Roi([0], [25]) });
	await runBlockwise(task, {
		...scratch.quiet,
		progress: {
			onEvent: (event) => {
				if (event.type === 'notice') notices.push(`${event.code}: ${event.message}`);
			},
		},
	});
	t.is(notices.length, 1);
	t.regex(notices[0]!, /^uncovered-rim: .*20.*25/);
});
