import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { CliScratch, main, pipelines } from './run-cli.ts';

test('a reader that goes away ends the output quietly', async (t) => {
	const scratch = new CliScratch(t);
	const plan = scratch.start(['plan', pipelines, '--json']);
	plan.stdout?.destroy();
	const { code, stderr } = await plan.result;
	t.is(stderr, '');
	t.is(code, 0);
});

test('a run whose progress nobody reads goes on to its end', async (t) => {
	const scratch = new CliScratch(t);
	const args = ['run', pipelines, '-e', 'good', '--tracking-dir', 'run', '--progress', 'json'];
	const run = scratch.start(args);
	run.stdout?.destroy();
	const { code, stderr } = await run.result;
	t.is(code, 0);
	t.regex(stderr, /^ {4}good ✔ +8 +8 +0 +0 +0$/m);
	t.notRegex(stderr, /EPIPE/);
	t.regex((await scratch.run('status', 'run/good')).stdout, /^ {4}done {6}8 /m);
});

for (const [args, first] of [
	[['plan', pipelines], /^fragments$/],
	[['plan', pipelines, '--json'], /^\{$/],
	[['run', pipelines, '-e', 'good', '--progress', 'none'], /^Execution Summary$/],
	[
		['run', pipelines, '-e', 'good', '--progress', 'json', '--no-summary'],
		/^\{"t":.*"event":"start"/,
	],
	[['status', 'run/failing'], /^\/.*\/run\/failing$/],
	[['report', 'run/failing'], /^Run [\da-f]{16} of /],
	[['report', 'run/failing', '--json'], /^\{$/],
	[['failures', 'run/failing'], /^failing\/3 {2}1 failed attempt /],
	[['reset', 'run/failing'], /^removed /],
	[['--help'], /^Usage: bellis/],
	[['help', 'run'], /^Usage: bellis run/],
] as const) {
	test(`${args.map((word) => (word === pipelines ? 'FILE' : word)).join(' ')} | head -1`, async (t) => {
		const scratch = new CliScratch(t);
		if (args.includes('run/failing' as never)) {
			const options = ['--tracking-dir', 'run', '--progress', 'none', '--no-summary'];
			await scratch.run('run', pipelines, '-e', 'failing', ...options);
		}
		const script = '"$0" "$@" | head -1; echo "$PIPESTATUS"';
		const child = spawn('bash', ['-c', script, process.execPath, main, ...args], {
			cwd: scratch.path,
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		let output = '';
		for (const stream of [child.stdout, child.stderr]) {
			stream.setEncoding('utf8').on('data', (text: string) => {
				output += text;
			});
		}
		await once(child, 'close');
		const [line = '', ...rest] = output.split('\n');
		t.regex(line, first);
		t.deepEqual(rest, ['0', '']);
	});
}

const full = existsSync('/dev/full') ? test : test.skip;

full('a full disk ends the output and not the run, which says so and fails', async (t) => {
	const scratch = new CliScratch(t);
	const run = ['run', pipelines, '-e', 'good', '--tracking-dir', 'run', '--progress', 'json'];
	for (const [args, redirect] of [
		[run, '>/dev/full'],
		[[...run, '--serial'], '2>/dev/full'],
		[['plan', pipelines], '>/dev/full'],
	] as const) {
		const child = spawn('bash', ['-c', `"$0" "$@" ${redirect}`, process.execPath, main, ...args], {
			cwd: scratch.path,
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		let stderr = '';
		child.stdout.resume();
		child.stderr.setEncoding('utf8').on('data', (text: string) => {
			stderr += text;
		});
		const [code] = await once(child, 'close');
		t.is(code, 2);
		if (redirect.startsWith('>')) {
			t.regex(stderr, /^error: output to stdout was lost: ENOSPC: [^\n]*\n$/m);
			t.notRegex(stderr, /node:|at /);
		}
	}
	t.regex((await scratch.run('status', 'run/good')).stdout, /^ {4}done {6}8 /m);
});

test('The last message or output line is lost because the process exits first: a slow reader gets 50,000 JSON events', async (t) => {
	const module = (name: string) => JSON.stringify(new URL(name, pathToFileURL(main)).href);
	const program = `
		import { outputWritten, surviveLostOutput } from ${module('output.js')};
		import { JsonProgressObserver } from ${module('../progress/json-observer.js')};
		surviveLostOutput();
		const observer = new JsonProgressObserver();
		for (let completed = 0; completed < 49_999; completed++) observer.onProgress({ a: { total: 50_000, completed } });
		observer.onFinish({ a: { total: 50_000, completed: 50_000 } });
		await outputWritten();
		process.exit(0);`;
	const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let lines = 0;
	let rest = '';
	let last = '';
	for await (const chunk of child.stdout.setEncoding('utf8')) {
		// Each chunk is taken only after the process had every chance to end too early.
		await new Promise(setImmediate);
		rest += chunk;
		const parts = rest.split('\n');
		rest = parts.pop() ?? '';
		lines += parts.length;
		last = parts.at(-1) ?? last;
	}
	t.is(lines, 50_000);
	t.is(rest, '');
	t.like(JSON.parse(last), { event: 'finish', completed: 50_000 });
});
