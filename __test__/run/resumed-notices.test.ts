import test from 'ava';
import type { NativeRunConfig, NativeTaskState } from '../../src/native.ts';
import { ResumedNotices } from '../../src/run/notices.ts';
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
