// What a run counts on, whatever starts its workers. A new launcher goes into the list below.
import { readdirSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { Handle, Launcher, LaunchSpec } from '../../src/launchers/launcher.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { SubmittingLauncher } from '../end-to-end/cluster.js';
import { gone, line, Scratch } from '../end-to-end/scratch.js';

const launchers: Record<string, (t: ExecutionContext) => Launcher> = {
	'local processes': () => new LocalLauncher(),
	'local processes below a shell': () =>
		new LocalLauncher({ wrap: ['sh', '-c', '"$@"; exit $?', 'sh'] }),
	'one that submits and returns': (t) => new SubmittingLauncher(t),
};

/** Passes everything on and keeps what was said. */
class Watched implements Launcher {
	readonly specs: LaunchSpec[] = [];
	readonly handles: Handle[] = [];

	constructor(readonly inner: Launcher) {}

	async start(spec: LaunchSpec, signal: AbortSignal): Promise<Handle> {
		this.specs.push(spec);
		const handle = await this.inner.start(spec, signal);
		this.handles.push(handle);
		return handle;
	}
}

for (const [name, make] of Object.entries(launchers)) {
	test(`${name}: a run is done by its workers, and none is left after it`, async (t) => {
		const scratch = new Scratch(t);
		const launcher = new Watched(make(t));
		const deeds = { all: { do: 'gate', file: scratch.path('gate') } };
		const run = runBlockwise(line(scratch, 6, deeds, { launcher, maxWorkers: 2 }), scratch.quiet);
		await scratch.madeLike(/^gate\.waits/, 2);
		t.is(scratch.pids().length, 2);
		scratch.open('gate');
		t.true(await run);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 });
		for (const handle of launcher.handles) t.not(handle.describe().trim(), '');
		await gone(scratch.pids());
	});

	test(`${name}: a worker killed in the middle of a block is replaced and the block run again`, async (t) => {
		const scratch = new Scratch(t);
		const launcher = make(t);
		const task = line(scratch, 4, { 1: { do: 'kill', once: true } }, { launcher });
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.is(state!.completed, 4);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1, 3: 1 });
		t.deepEqual([state!.workerStarts, scratch.pids().length], [2, 2]);
	});

	test(`${name}: an aborted run leaves no worker`, async (t) => {
		const scratch = new Scratch(t);
		const deeds = { all: { do: 'gateSync', file: scratch.path('never') } };
		const controller = new AbortController();
		const run = runBlockwise(line(scratch, 4, deeds, { launcher: make(t), maxWorkers: 2 }), {
			...scratch.quiet,
			signal: controller.signal,
			shutdownGraceMs: 0,
		});
		await scratch.madeLike(/^never\.waits/, 2);
		controller.abort(new Error('enough'));
		await t.throwsAsync(run, { message: 'enough' });
		await gone(scratch.pids());
		t.is(scratch.pids().length, 2);
	});

	test(`${name}: what a worker prints is in the file that the launcher was told`, async (t) => {
		const scratch = new Scratch(t);
		const launcher = new Watched(make(t));
		const task = line(scratch, 2, { all: { do: 'print', bytes: 100_000 } }, { launcher });
		t.true(await runBlockwise(task, scratch.quiet));
		await gone(scratch.pids());
		const text = readFileSync(launcher.specs[0]!.logs.out!, 'utf8');
		t.is(text.match(/x/g)?.length, 2 * 99_999);
	});

	test(`${name}: no command line of this machine holds the secret of a run`, async (t) => {
		const scratch = new Scratch(t);
		const launcher = new Watched(make(t));
		const deeds = { all: { do: 'gate', file: scratch.path('gate') } };
		const run = runBlockwise(line(scratch, 1, deeds, { launcher }), scratch.quiet);
		await scratch.madeLike(/^gate\.waits/, 1);
		const secret = /secret=([^:]+)/.exec(launcher.specs[0]!.env.BELLIS_CONTEXT!)![1]!;
		t.true(secret.length >= 32);
		const commands = readdirSync('/proc')
			.filter((pid) => /^\d+$/.test(pid))
			.map(commandLine);
		t.true(commands.some((command) => command.includes('worker/entry')));
		t.false(commands.some((command) => command.includes(secret)));
		scratch.open('gate');
		t.true(await run);
	});
}

function commandLine(pid: string): string {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
	} catch {
		// it has ended
		return '';
	}
}
