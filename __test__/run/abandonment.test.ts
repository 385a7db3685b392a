import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { abandonmentOf } from '../../src/run/abandonment.js';
import { Task } from '../../src/task/task.js';
import type { TaskState } from '../../src/task-state.js';

function taskOf(taskId: string, options = {}): Task {
	return new Task({
		taskId,
		totalRoi: new Roi([0], [80]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		...options,
	});
}

function stateOf(state: Partial<TaskState> = {}): TaskState {
	return {
		total: 8,
		ready: 0,
		pending: 0,
		processing: 0,
		completed: 0,
		skipped: 0,
		failed: 4,
		orphaned: 4,
		started: true,
		done: true,
		abandoned: true,
		abandonReason: 'worker restart cap exhausted',
		workerStarts: 4,
		workerRestarts: 3,
		workerFailures: 4,
		failedAttempts: 4,
		checkErrors: 0,
		timeouts: 0,
		timeoutMs: 600_000,
		firstError: 'TypeError: boom\n    at act (segment.js:3:1)',
		lastError: 'TypeError: boom again',
		failures: [],
		...state,
	};
}

test('no error without an abandoned task', (t) => {
	const state = stateOf({ abandoned: false, abandonReason: null });
	t.is(abandonmentOf([taskOf('ab')], { ab: state }), null);
});

test('the error counts, shows the first and the last error and says what to raise', (t) => {
	const error = abandonmentOf([taskOf('ab')], { ab: stateOf() })!;
	t.is(error.code, 'ERR_BELLIS_ABANDONED');
	t.is(
		error.message,
		`task "ab" was abandoned: all 4 starts of workers are used up. Workers failed 4 times, 3 restarts performed; 4 of 8 blocks orphaned. The first error:
    TypeError: boom
        at act (segment.js:3:1)
The last error:
    TypeError: boom again
Fix what the workers die of, raise maxWorkerRestarts, or keep workers whose blocks fail with onBlockError: 'keep-worker'.`,
	);
	t.is(error.taskId, 'ab');
	t.is(error.workerFailures, 4);
	t.is(error.orphaned, 4);
	t.is(error.lastError, 'TypeError: boom again');
});

test('the task that was given up on its own account is named first, those behind it after', (t) => {
	const error = abandonmentOf([taskOf('a'), taskOf('b'), taskOf('c')], {
		a: stateOf({ abandonReason: 'upstream task abandoned' }),
		b: stateOf({ firstError: null, lastError: null }),
		c: stateOf({ abandoned: false, abandonReason: null }),
	})!;
	t.is(error.taskId, 'b');
	t.regex(error.message, /Abandoned with it: "a"\. No error of a worker was seen\. Fix/);
});

test('a task that keeps workers already is not told to, and one error is told once', (t) => {
	const task = taskOf('ab', { onBlockError: 'keep-worker' });
	const error = abandonmentOf([task], { ab: stateOf({ lastError: stateOf().firstError }) })!;
	t.regex(
		error.message,
		/segment\.js:3:1\)\nFix what the workers die of, or raise maxWorkerRestarts\.$/,
	);
});

test('timeouts are told with the value, and whether it is the default', (t) => {
	const byDefault = abandonmentOf([taskOf('ab')], { ab: stateOf({ timeouts: 2 }) })!;
	t.regex(byDefault.message, /2 attempts exceeded timeoutMs \(600000, the default\)\./);
	const own = abandonmentOf([taskOf('ab', { timeoutMs: 50 })], { ab: stateOf({ timeouts: 1 }) })!;
	t.regex(own.message, /1 attempt exceeded timeoutMs \(50\)\./);
	t.is(own.timeouts, 1);
});
