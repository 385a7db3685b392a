import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Context } from '../../src/context.js';
import type { LaunchSpec, WorkerLogs } from '../../src/launchers/launcher.js';
import { LocalLauncher } from '../../src/launchers/local.js';

const never = new AbortController().signal;

function folder(t: ExecutionContext): string {
	const path = mkdtempSync(join(tmpdir(), 'bellis-test-'));
	t.teardown(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

function program(source: string, logs?: Partial<WorkerLogs>, env = {}): LaunchSpec {
	return {
		taskId: 'task',
		workerId: 3,
		command: process.execPath,
		args: ['--input-type=module', '-e', source],
		env: { NODE_OPTIONS: '', ...env },
		context: Context.parse('hostname=127.0.0.1:port=1:task_id=task:worker_id=3:secret=00'),
		logs: { out: null, err: null, console: 'none', ...logs },
	};
}

/** Settles when `path` exists: the programs here make files to say where they are. */
async function made(path: string): Promise<void> {
	const watcher = watch(join(path, '..'));
	try {
		while (!existsSync(path)) await once(watcher, 'change');
	} finally {
		watcher.close();
	}
}

function lives(pid: number): boolean {
	try {
		process.kill(pid, 0);
		// a zombie whose parent hasn't waited for it yet is dead
		return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
	} catch {
		return false;
	}
}

/** Settles when the process is gone; the test's own timeout is the limit. */
async function gone(pid: number): Promise<void> {
	while (lives(pid)) await new Promise((resolve) => setImmediate(resolve));
}

test('options that it has not are refused', (t) => {
	t.throws(() => new LocalLauncher({ wrp: ['nice'] } as object), {
		code: 'ERR_BELLIS_VALIDATION',
		message: 'wrp is no launcher option: did you mean wrap?',
	});
	t.throws(() => new LocalLauncher({ wrap: 'nice' as never }), { message: /^wrap must be / });
});

test('stdout and stderr go to their files, after a header and appended to what was there', async (t) => {
	const dir = folder(t);
	const logs = { out: join(dir, 'deep/worker_3.out'), err: join(dir, 'deep/worker_3.err') };
	const launcher = new LocalLauncher();
	for (const word of ['first', 'second']) {
		const source = `console.log('${word} out'); console.error('${word} err')`;
		const exit = await (await launcher.start(program(source, logs), never)).exited!;
		t.is(exit.code, 0);
		t.is(exit.reason, 'exited with code 0');
		t.is(exit.stderrTail, `${word} err`);
	}
	const lines = readFileSync(logs.out, 'utf8').trimEnd().split('\n');
	t.is(lines.length, 4);
	t.regex(lines[0]!, /^=== bellis run \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ pid \d+ worker 3 ===$/);
	t.deepEqual([lines[1], lines[3]], ['first out', 'second out']);
});

test('a worker that writes 5 MB and exits at once leaves all 5 MB in its log', async (t) => {
	const dir = folder(t);
	const logs = { out: join(dir, 'w.out'), err: join(dir, 'w.err') };
	const source = `process.stdout.write('x'.repeat(5 << 20)); process.exit(0)`;
	await (await new LocalLauncher().start(program(source, logs), never)).exited;
	const text = readFileSync(logs.out, 'utf8');
	t.is(text.length - text.indexOf('\n') - 1, 5 << 20);
});

test('log files are live: a line is there while the worker runs', async (t) => {
	const dir = folder(t);
	const logs = { out: join(dir, 'w.out'), err: join(dir, 'w.err') };
	const mark = join(dir, 'written');
	const source = `import { writeFileSync } from 'node:fs';
		console.log('hello'); writeFileSync(${JSON.stringify(mark)}, ''); setInterval(() => {}, 1000)`;
	const handle = await new LocalLauncher().start(program(source, logs), never);
	await made(mark);
	t.true(readFileSync(logs.out, 'utf8').endsWith('hello\n'));
	handle.stop(0);
	t.is((await handle.exited!).signal, 'SIGKILL');
});

test('the end is told in words: code, signal, heap', async (t) => {
	const launcher = new LocalLauncher();
	const end = async (source: string, args: string[] = []) => {
		const spec = program(source);
		return (await launcher.start({ ...spec, args: [...args, ...spec.args] }, never)).exited!;
	};
	t.is((await end('process.exit(3)')).reason, 'exited with code 3');
	t.is((await end('process.abort()')).reason, 'aborted (SIGABRT)');
	t.regex((await end(`process.kill(process.pid, 'SIGKILL')`)).reason!, /^killed by SIGKILL/);
	const heap = await end('const a = []; for (;;) a.push(new Array(1e5).fill(a.length))', [
		'--max-old-space-size=32',
	]);
	t.regex(heap.reason!, /^ran out of JavaScript heap memory/);
	const uncaught = await end(`throw new Error('at import')`);
	t.is(uncaught.code, 1);
	t.regex(uncaught.stderrTail!, /Error: at import/);
});

test('a program that does not exist is a failed start', async (t) => {
	const launcher = new LocalLauncher({ wrap: ['no-such-binary'] });
	const error = await t.throwsAsync(launcher.start(program(''), never), { code: 'ENOENT' });
	t.regex(error!.message, /no-such-binary/);
});

test('a worker that ignores SIGTERM is killed after the grace', async (t) => {
	const dir = folder(t);
	const mark = join(dir, 'ready');
	const source = `import { writeFileSync } from 'node:fs';
		process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); writeFileSync(${JSON.stringify(mark)}, '')`;
	const handle = await new LocalLauncher().start(program(source), never);
	await made(mark);
	handle.stop(50);
	const exit = await handle.exited!;
	t.is(exit.signal, 'SIGKILL');
	t.is(exit.reason, 'killed by SIGKILL, stopped by the run');
});

test('stopping a worker that a shell wraps leaves neither shell nor worker', async (t) => {
	const dir = folder(t);
	const mark = join(dir, 'pid');
	const source = `import { renameSync, writeFileSync } from 'node:fs';
		setInterval(() => {}, 1000); writeFileSync(${JSON.stringify(`${mark}-`)}, String(process.pid));
		renameSync(${JSON.stringify(`${mark}-`)}, ${JSON.stringify(mark)})`;
	const launcher = new LocalLauncher({ wrap: ['sh', '-c', '"$@"; true', 'sh'] });
	const handle = await launcher.start(program(source), never);
	await made(mark);
	const worker = Number(readFileSync(mark, 'utf8'));
	t.not(worker, handle.pid);
	handle.stop(5000);
	await handle.exited;
	await gone(worker);
	t.pass();
});

test('an aborted start ends the worker', async (t) => {
	const controller = new AbortController();
	const handle = await new LocalLauncher().start(
		program('setInterval(() => {}, 1000)'),
		controller.signal,
	);
	controller.abort(new Error('the run is over'));
	t.is((await handle.exited!).signal, 'SIGKILL');
	await t.throwsAsync(new LocalLauncher().start(program(''), controller.signal), {
		message: 'the run is over',
	});
});

test('a driver that throws or exits takes its workers with it, and prefixes their lines on its console', async (t) => {
	const dir = folder(t);
	const mark = join(dir, 'pid');
	const driver = join(dir, 'driver.mts');
	const launcher = new URL('../../src/launchers/local.ts', import.meta.url).href;
	const worker = `const { writeFileSync, renameSync } = await import('node:fs');
		console.log('one\\ntwo'); console.error('three'); setInterval(() => {}, 1000);
		writeFileSync(${JSON.stringify(`${mark}-`)}, String(process.pid));
		renameSync(${JSON.stringify(`${mark}-`)}, ${JSON.stringify(mark)});`;
	writeFileSync(
		driver,
		`import { LocalLauncher } from ${JSON.stringify(launcher)};
		const handle = await new LocalLauncher().start({
			taskId: 'chatty\\u001b', workerId: 7, command: process.execPath,
			args: ['--input-type=module', '-e', ${JSON.stringify(worker)}], env: { NODE_OPTIONS: '' }, context: null,
			logs: { out: null, err: null, console: 'prefixed' },
		}, new AbortController().signal);
		process.stdin.once('data', () => { throw new Error('the driver fails') });`,
	);
	const child = spawn(process.execPath, ['--import=tsx', driver], { stdio: 'pipe' });
	const text = { out: '', err: '' };
	child.stdout.setEncoding('utf8').on('data', (data) => (text.out += data));
	child.stderr.setEncoding('utf8').on('data', (data) => (text.err += data));
	const printed = async (stream: 'out' | 'err', part: string) => {
		while (!text[stream].includes(part)) await once(child[`std${stream}`], 'data');
	};
	await made(mark);
	await printed('out', '[chatty\\x1b 7] one\n[chatty\\x1b 7] two\n');
	await printed('err', '[chatty\\x1b 7] three\n');
	child.stdin.end('now');
	const [code] = await once(child, 'close');
	t.not(code, 0);
	t.regex(text.err, /the driver fails/);
	await gone(Number(readFileSync(mark, 'utf8')));
});

test('a stop of a process that has just died of something else is not what ended it', async (t) => {
	if (!existsSync('/proc/self/stat')) return t.pass();
	const handle = await new LocalLauncher().start(program('setInterval(() => {}, 1e6)'), never);
	process.kill(handle.pid!, 'SIGKILL');
	// nobody waits for it while this thread is busy
	while (lives(handle.pid!));
	handle.stop(0);
	const exit = await handle.exited!;
	t.is(exit.reason, 'killed by SIGKILL (from outside, perhaps for memory)');
	t.false(exit.stopped);
});

test('a stop that ended a process says so', async (t) => {
	for (const graceMs of [0, 60_000]) {
		const handle = await new LocalLauncher().start(program('setInterval(() => {}, 1e6)'), never);
		handle.stop(graceMs);
		const exit = await handle.exited!;
		t.regex(exit.reason!, /, stopped by the run$/);
		t.true(exit.stopped);
	}
});
