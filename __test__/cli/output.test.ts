import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
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

test('| head -1 shows the first line only', async (t) => {
	const child = spawn(
		'bash',
		['-c', '"$0" "$1" plan "$2" | head -1; echo "$PIPESTATUS"', process.execPath, main, pipelines],
		{ stdio: ['ignore', 'pipe', 'pipe'] },
	);
	let output = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
		});
	}
	await once(child, 'close');
	t.is(output, 'fragments\n0\n');
});

test('a reader that is slow gets everything before the process ends', async (t) => {
	const output = pathToFileURL(join(dirname(main), 'output.js')).href;
	const program = `
		import { outputWritten, print, tolerateClosedPipes } from ${JSON.stringify(output)};
		tolerateClosedPipes();
		for (let i = 0; i < 50_000; i++) print(['{"event":"progress","number":' + i + ',"pad":"${'x'.repeat(40)}"}']);
		await outputWritten();
		process.exit(0);`;
	const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let lines = 0;
	let last = '';
	for await (const chunk of child.stdout.setEncoding('utf8')) {
		// Each chunk is taken only after the process had every chance to end too early.
		await new Promise(setImmediate);
		last += chunk;
		const parts = last.split('\n');
		last = parts.pop() ?? '';
		lines += parts.length;
	}
	t.is(lines, 50_000);
	t.is(last, '');
});
