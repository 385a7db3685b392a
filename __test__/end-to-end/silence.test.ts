import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { Handle, Launcher, LaunchSpec } from '../../src/launchers/launcher.js';
import { Server } from '../../src/run/server.js';
import type { TaskOptions } from '../../src/task/task.js';
import { readArrays } from '../tracking/arrays.js';
import { fixture, gone, line, Scratch } from './scratch.js';

// A worker that says nothing for five seconds is lost, however long its block may run.

/** A task of which block 1 stops its process, and whose blocks may run for a day. */
function stopping(scratch: Scratch, options: Partial<TaskOptions> = {}, config: object = {}) {
	return line(
		scratch,
		3,
		{},
		{
			processFunction: fixture('stopped.js'),
			config: { calls: scratch.calls, ...config },
			timeoutMs: 24 * 3600 * 1000,
			trackingPath: scratch.path('store'),
			resourceTracking: true,
			...options,
		},
	);
}

/** The process that the first call of block 1 stopped. */
const stoppedPid = (scratch: Scratch) => Number(readFileSync(`${scratch.calls}.stopped`, 'utf8'));

/** How often block 1 was called. */
const callsOfOne = (scratch: Scratch) => scratch.lines().filter((text) => text.startsWith('1 '));

test('a local worker that is stopped is noticed by its silence and dead before its block runs again', async (t) => {
	const scratch = new Scratch(t);
	const { line: state } = await new Server().runBlockwise(stopping(scratch), scratch.quiet);
	t.is(readFileSync(`${scratch.calls}.again`, 'utf8'), 'dead');
	t.like(state, { completed: 3, failed: 0, timeouts: 0, workerFailures: 1 });
	t.is(callsOfOne(scratch).length, 2);
	t.false(scratch.lines().some((text) => text.startsWith('late')));
	t.regex(state!.firstError!, /said nothing for 5 s, then killed by SIGKILL/);
	await gone([stoppedPid(scratch)]);
});

/** Starts programs that nobody can stop, as a cluster whose queue doesn't answer, and doesn't hear of their ends. */
class OutOfReach implements Launcher {
	readonly started = new Map<number, ChildProcess>();

	constructor(t: ExecutionContext) {
		t.teardown(() => {
			for (const child of this.started.values()) child.kill('SIGKILL');
		});
	}

	async start(spec: LaunchSpec): Promise<Handle> {
		const child = spawn(process.execPath, [fileURLToPath(fixture('stopped-program.js'))], {
			env: { ...process.env, NODE_OPTIONS: '', ...spec.env, ...spec.context.toEnv() },
			stdio: 'ignore',
		});
		this.started.set(child.pid!, child);
		return { stop: () => {}, describe: () => `job ${child.pid}` };
	}
}

test('the block of a silent worker out of reach runs again, and its late answer changes nothing', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new OutOfReach(t);
	const gate = scratch.path('gate');
	const task = stopping(scratch, { launcher, maxWorkers: 1 }, { gate });
	const running = new Server().runBlockwise(task, scratch.quiet);
	await scratch.made('calls.again');
	t.is(readFileSync(`${scratch.calls}.again`, 'utf8'), 'alive');

	// It goes on while its block runs in another one, answers before that one, and ends.
	const late = launcher.started.get(stoppedPid(scratch))!;
	const ended = once(late, 'exit');
	late.kill('SIGCONT');
	await ended;
	t.true(scratch.lines().includes(`late ${late.pid}`));
	scratch.open('gate');

	const { line: state } = await running;
	t.like(state, { completed: 3, failed: 0, timeouts: 0 });
	t.is(callsOfOne(scratch).length, 2);
	const { done, worker_id } = await readArrays(scratch.path('store'), ['done', 'worker_id']);
	t.deepEqual([...done!.values], [1, 1, 1]);
	t.not(worker_id!.values[1], worker_id!.values[0], 'recorded is who answered in time');
});
