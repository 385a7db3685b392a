import { spawn } from 'node:child_process';
import test from 'ava';
import type { Launcher, LaunchSpec } from '../../src/launchers/launcher.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { SubmittingLauncher } from './cluster.js';
import { gone, line, Scratch } from './scratch.js';

test('a submitted worker that never comes is given up after the time to connect', async (t) => {
	const scratch = new Scratch(t);
	const stopped: number[] = [];
	const launcher: Launcher = {
		start: async ({ workerId }) => ({
			stop: () => void stopped.push(workerId),
			describe: () => `job ${workerId}`,
		}),
	};
	const task = line(scratch, 4, {}, { launcher, connectTimeoutMs: 50, maxWorkerRestarts: 2 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.abandoned);
	t.is(state!.workerStarts, 3);
	t.true(stopped.length >= 2);
});

for (const host of ['192.0.2.1', undefined]) {
	test(`workers that never reach the run are told with its address (${host ?? 'of this machine only'})`, async (t) => {
		const scratch = new Scratch(t);
		const addresses: string[] = [];
		const launcher: Launcher = {
			start: async ({ context }) => {
				addresses.push(`${context.hostname}:${context.port}`);
				return { stop: () => {}, describe: () => 'a job that is lost' };
			},
		};
		const task = line(scratch, 4, {}, { launcher, connectTimeoutMs: 20, maxWorkerRestarts: 0 });
		const options = host === undefined ? scratch.quiet : { ...scratch.quiet, host };
		const error = await t.throwsAsync(runBlockwise(task, options), {
			code: 'ERR_BELLIS_ABANDONED',
		});
		t.is(new Set(addresses).size, 1);
		t.true(error!.message.includes(`None of them ever connected to ${addresses[0]}`));
		t.regex(error!.message, host === undefined ? /only this machine can reach: / : /:\d+: if/);
		t.regex(error!.message, /set the run option host/);
	});
}

test('a launcher that starts nothing is told without the address', async (t) => {
	const scratch = new Scratch(t);
	const launcher: Launcher = { start: () => Promise.reject(new Error('no node is free')) };
	const task = line(scratch, 4, {}, { launcher, maxWorkerRestarts: 0 });
	const error = await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_ABANDONED',
		message: /LauncherError: no node is free/,
	});
	t.notRegex(error!.message, /ever connected/);
});

test('workers that come and die are told without the address', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new SubmittingLauncher(t);
	const options = { launcher, maxRetries: 0, maxWorkerRestarts: 0 };
	const task = line(scratch, 4, { all: { do: 'exit', code: 1 } }, options);
	const error = await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_ABANDONED',
	});
	t.notRegex(error!.message, /ever connected/);
});

test('eight clones of one context are eight workers and do no harm', async (t) => {
	const scratch = new Scratch(t);
	const launcher = new SubmittingLauncher(t, 8);
	const task = line(scratch, 40, { all: { do: 'sleep', ms: 5 } }, { launcher });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 40);
	t.is(scratch.lines().length, 40);
	t.is(state!.workerStarts, 1);
	await gone(launcher.started.map(({ pid }) => pid!));
});

test('a launcher that throws uses up starts; its error is told', async (t) => {
	const scratch = new Scratch(t);
	const launcher: Launcher = {
		start: async () => {
			throw new Error('the queue is closed');
		},
	};
	const task = line(scratch, 4, {}, { launcher, maxWorkers: 2, maxWorkerRestarts: 1 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.abandoned);
	t.is(state!.workerStarts, 3);
	t.regex(state!.firstError!, /the queue is closed/);
});

test('a launcher that never returns does not hold up the end of a run', async (t) => {
	const scratch = new Scratch(t);
	const aborted: string[] = [];
	const launcher: Launcher = {
		start: (_, signal) =>
			new Promise(() => {
				signal.addEventListener('abort', () => aborted.push(String(signal.reason)));
			}),
	};
	const controller = new AbortController();
	const run = runBlockwise(line(scratch, 4, {}, { launcher }), {
		...scratch.quiet,
		signal: controller.signal,
		shutdownGraceMs: 0,
	});
	setTimeout(() => controller.abort(new Error('enough')), 50);
	await t.throwsAsync(run, { message: 'enough' });
	t.is(aborted.length, 1);
});

test('a worker that comes after the end leaves', async (t) => {
	const scratch = new Scratch(t);
	let late: LaunchSpec | undefined;
	const inner = new SubmittingLauncher(t);
	const launcher: Launcher = {
		start: (spec) => {
			late = spec;
			return inner.start(spec);
		},
	};
	t.true(await runBlockwise(line(scratch, 2, {}, { launcher }), scratch.quiet));
	const child = spawn(late!.command, late!.args, {
		env: { ...process.env, ...late!.env },
		stdio: ['ignore', 'ignore', 'pipe'],
	});
	let err = '';
	child.stderr.setEncoding('utf8').on('data', (text) => {
		err += text;
	});
	const code = await new Promise((resolve) => child.once('close', resolve));
	t.is(code, 0);
	t.regex(err, /^bellis: worker 0 of task 'line': no driver at /);
	t.is(scratch.lines().length, 2);
});

test('a worker on another machine that is given a loopback address leaves with code 3 and says what to pass', async (t) => {
	const scratch = new Scratch(t);
	const codes: (number | null)[] = [];
	let err = '';
	const launcher: Launcher = {
		start: async (spec) => {
			const context = spec.env.BELLIS_CONTEXT!.replace(/machine=[^:]*/, 'machine=elsewhere');
			const child = spawn(spec.command, spec.args, {
				env: { ...process.env, ...spec.env, BELLIS_CONTEXT: context },
				stdio: ['ignore', 'ignore', 'pipe'],
			});
			child.stderr.setEncoding('utf8').on('data', (text) => {
				err += text;
			});
			return {
				exited: new Promise((resolve) => {
					child.once('close', (exit) => {
						codes.push(exit);
						resolve({ code: exit });
					});
				}),
				stop: () => void child.kill('SIGKILL'),
				describe: () => 'a process elsewhere',
			};
		},
	};
	const task = line(scratch, 1, {}, { launcher, maxWorkerRestarts: 0 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.true(state!.abandoned);
	t.deepEqual(codes, [3]);
	t.regex(err, /host/);
	t.is(scratch.lines().length, 0);
});

test('a launcher that gives no handle, or one whose methods throw, does no harm', async (t) => {
	const scratch = new Scratch(t);
	const nothing = { start: async () => undefined } as unknown as Launcher;
	const first = line(scratch, 2, {}, { launcher: nothing, maxWorkerRestarts: 1 });
	const { line: state } = await new Server().runBlockwise(first, scratch.quiet);
	t.true(state!.abandoned);
	t.regex(state!.firstError!, /no handle with stop\(\) and describe\(\)/);

	const fail = () => {
		throw new Error('not today');
	};
	const throwing: Launcher = {
		start: async () => ({ stop: fail, describe: fail, exited: Promise.reject(new Error('lost')) }),
	};
	const second = line(scratch, 2, {}, { launcher: throwing, maxWorkerRestarts: 1 });
	const { line: other } = await new Server().runBlockwise(second, scratch.quiet);
	t.true(other!.abandoned);
	t.regex(other!.firstError!, /was lost by its launcher: lost/);
});
