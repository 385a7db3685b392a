import test from 'ava';
import type { NativeRunConfig, NativeTaskState } from '../../src/native.ts';
import { FailureLimit, ResumedNotices } from '../../src/run/notices.ts';
import type { RunListener } from '../../src/run/run-listener.ts';
import type { Task } from '../../src/task/task.ts';

function notices(edges: [number, number][] = []) {
	const told: string[] = [];
	const listener = {
		onNotice: (task: Task, { message }: { message: string }) =>
			told.push(`${task.taskId}: ${message.split(' (', 1)[0]}`),
	} as unknown as RunListener;
	const config = {
		edges,
		tasks: [0, 1].map(() => ({ trackingPath: '/store', skipMask: null, hasCheck: false })),
	} as unknown as NativeRunConfig;
	const tasks = [{ taskId: 'a' }, { taskId: 'b' }] as unknown as Task[];
	return { told, resumed: new ResumedNotices(listener, tasks, config) };
}

const states = (...skipped: number[]) =>
	skipped.map((count) => ({ skipped: count, total: 9, done: false })) as NativeTaskState[];

test('what was skipped is told once, as soon as the count has come to rest', (t) => {
	const { told, resumed } = notices();
	resumed.look(states(3, 0));
	t.deepEqual(told, []);
	resumed.look(states(5, 0));
	t.deepEqual(told, []);
	resumed.look(states(5, 0));
	t.deepEqual(told, ['a: skipped 5 of 9 blocks']);
	resumed.look(states(5, 0));
	resumed.finish(states(5, 0));
	t.is(told.length, 1);
});

test('a task that may skip more says so far; the end says what nobody has said', (t) => {
	const { told, resumed } = notices([[0, 1]]);
	resumed.look(states(0, 2));
	resumed.look(states(0, 2));
	resumed.finish(states(4, 6));
	t.deepEqual(told, ['b: skipped 2 of 9 blocks so far', 'a: skipped 4 of 9 blocks']);
});

test('a run that ends for its failures says so once, unless nothing was left to do', (t) => {
	const told: string[] = [];
	const listener = {
		onNotice: (_: null, { message }: { message: string }) => told.push(message),
	} as unknown as RunListener;
	const state = (failed: number, done = false) => ({ failed, done, abandoned: false });
	const three = new FailureLimit(listener, { failFast: false, maxFailures: 3 });
	t.false(three.look([state(1), state(1)]));
	t.true(three.look([state(2), state(2, true)]));
	t.true(three.look([state(2), state(2, true)]));
	const first = new FailureLimit(listener, { failFast: true, maxFailures: undefined });
	t.false(first.look([state(1, true)]));
	t.true(first.look([state(1)]));
	const none = new FailureLimit(listener, { failFast: false, maxFailures: undefined });
	t.false(none.look([state(1_000)]));
	t.deepEqual(told, [
		'4 blocks have failed for good, and maxFailures: 3 ends the run: no more blocks are handed out',
		'1 block has failed for good, and failFast ends the run: no more blocks are handed out',
	]);
});
