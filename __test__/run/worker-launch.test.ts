import { sep } from 'node:path';
import test from 'ava';
import { Context } from '../../src/context.js';
import { Roi } from '../../src/geometry/roi.js';
import { claimLogFolder, claimTasks } from '../../src/run/run-claims.js';
import { launchSpec, workerFlags, workerLogs } from '../../src/run/worker-launch.js';
import { Task, type TaskOptions } from '../../src/task/task.js';

const context = Context.parse('hostname=127.0.0.1:port=1:task_id=task:worker_id=3:secret=00');

function taskOf(options: Partial<TaskOptions> = {}): Task {
	return new Task({
		taskId: 'task',
		totalRoi: new Roi([0], [40]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		...options,
	});
}

test('a worker gets its context, the function of a worker function, and the environment of its task', (t) => {
	const logs = workerLogs('file', null, 3, false);
	const task = taskOf({ env: { OMP_NUM_THREADS: '1' } });
	const spec = launchSpec({ task, workerId: 3, context, workerFunction: '{}', logs });
	t.is(spec.env.OMP_NUM_THREADS, '1');
	t.is(spec.env.BELLIS_CONTEXT, context.toSecretText());
	t.is(spec.env.BELLIS_FUNCTION, '{}');
	t.is(spec.command, process.execPath);
	t.regex(spec.args.at(-1)!, /worker.entry\.[jt]s$/);
	const plain = launchSpec({ task, workerId: 3, context, workerFunction: null, logs });
	t.is(plain.env.BELLIS_FUNCTION, '');
});

test("a task's own flags replace inherited ones, its NODE_OPTIONS too", (t) => {
	const own = workerFlags(taskOf({ execArgv: ['--expose-gc'], env: { NODE_OPTIONS: '--prof' } }));
	t.deepEqual(own, { execArgv: ['--expose-gc'], nodeOptions: ['--prof'] });
	const inherited = workerFlags(taskOf());
	// these tests run with a loader
	t.true(inherited.execArgv.some((flag) => flag.startsWith('--import')));
});

test('files by default, the console where there is no folder, prefixes where it is shared', (t) => {
	const folder = ['logs', 'task'].join(sep);
	t.deepEqual(workerLogs('file', folder, 3, true), {
		out: [folder, 'worker_3.out'].join(sep),
		err: [folder, 'worker_3.err'].join(sep),
		console: 'none',
	});
	t.deepEqual(workerLogs('file', null, 3, true), { out: null, err: null, console: 'prefixed' });
	t.deepEqual(workerLogs('console', folder, 3, false), { out: null, err: null, console: 'plain' });
	t.is(workerLogs('both', folder, 3, false).console, 'plain');
	t.deepEqual(workerLogs('none', null, 3, true), { out: null, err: null, console: 'none' });
});

test('a second live run that logs to the same place gets a folder of its own', (t) => {
	const first = claimLogFolder('/logs', 'task', 'aa');
	const second = claimLogFolder('/logs', 'task', 'bb');
	t.is(first.name, 'task');
	t.is(second.name, 'task@bb');
	first.release();
	const third = claimLogFolder('/logs', 'task', 'cc');
	t.is(third.name, 'task');
	second.release();
	third.release();
});

test('one task object is in one live run at a time', (t) => {
	const task = taskOf();
	const release = claimTasks([task]);
	t.throws(() => claimTasks([taskOf(), task]), { code: 'ERR_BELLIS_PIPELINE', message: /"task"/ });
	release();
	claimTasks([task])();
});
