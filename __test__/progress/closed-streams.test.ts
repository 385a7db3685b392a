import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { writeLeniently } from '../../src/lenient-write.ts';
import { CliScratch } from '../cli/run-cli.ts';

/** A stream whose writes fail as those of a closed pipe do: the callback hears of it first, then the listeners. */
class ClosedStream extends EventEmitter {
	readonly written: string[] = [];
	readonly failed: Promise<void>;
	#fail = () => {};

	constructor() {
		super();
		this.failed = new Promise((resolve) => {
			this.#fail = resolve;
		});
	}

	write(text: string, done?: (error: Error) => void): boolean {
		this.written.push(text);
		const error = new Error('EPIPE');
		process.nextTick(() => {
			done?.(error);
			this.emit('error', error);
			this.#fail();
		});
		return false;
	}
}

test('a write to a closed stream is lost, and nobody throws', async (t) => {
	const stream = new ClosedStream();
	writeLeniently(stream, 'one');
	await stream.failed;
	t.deepEqual(stream.written, ['one']);
	t.is(stream.listenerCount('error'), 0);
});

test('who listens for errors hears of it', async (t) => {
	const stream = new ClosedStream();
	const heard: Error[] = [];
	stream.on('error', (error) => heard.push(error));
	writeLeniently(stream, 'one');
	await stream.failed;
	t.deepEqual(
		heard.map(({ message }) => message),
		['EPIPE'],
	);
	t.is(stream.listenerCount('error'), 1);
});

test('what has only a write gets the text', (t) => {
	const written: string[] = [];
	writeLeniently({ write: (text) => written.push(text) }, 'one');
	t.deepEqual(written, ['one']);
});

for (const [name, progress, redirect] of [
	['JSON on a closed stdout', 'new JsonProgressObserver()', ''],
	['the summary on a closed stdout', 'false', ''],
	['lines and the summary on closed pipes', 'true', '2>&1'],
] as const) {
	test(`a program goes on to its end: ${name}`, async (t) => {
		const scratch = new CliScratch(t);
		scratch.linkPackage();
		scratch.file('block.mjs', 'export default () => {};\n');
		scratch.file(
			'main.mjs',
			`import { writeFileSync } from 'node:fs';
import { JsonProgressObserver, Roi, runBlockwise, Task } from 'bellis';
const task = new Task({
	taskId: 'a', totalRoi: new Roi([0], [40]), readRoi: new Roi([0], [10]), writeRoi: new Roi([0], [10]),
	processFunction: './block.mjs',
});
const completed = await runBlockwise(task, { progress: ${progress} });
await new Promise(setImmediate);
writeFileSync('end', String(completed));
`,
		);
		// the reader is gone before the first word
		const gone = `exec 3> >(exec true); wait $!; "$0" main.mjs >&3 ${redirect}; echo $?`;
		const child = spawn('bash', ['-c', gone, process.execPath], {
			cwd: scratch.path,
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		let stdout = '';
		let stderr = '';
		child.stdout.setEncoding('utf8').on('data', (text: string) => {
			stdout += text;
		});
		child.stderr.setEncoding('utf8').on('data', (text: string) => {
			stderr += text;
		});
		await once(child, 'close');
		const end = join(scratch.path, 'end');
		t.true(existsSync(end), stderr);
		t.is(readFileSync(end, 'utf8'), 'true');
		t.is(stdout, '0\n');
		t.notRegex(stderr, /EPIPE|node:events/);
	});
}
