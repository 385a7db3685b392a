import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { formatRunRecord } from '../../src/tracking/run-record.ts';
import { buggy } from '../report/seed-reports.ts';
import { CliScratch, pipelines } from './run-cli.ts';

const vectors = fileURLToPath(new URL('../vectors/stores', import.meta.url));

/** Clears the screen in both ways, and turns letters around. */
const hostile = '\x1B[2Jx\x9B2Jy\u202Ez';
const shown = '\\x1b[2Jx\\x9b2Jy\\u202ez';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const acting = /[\x00-\x08\x0B-\x1F\x7F-\x9F\u202A-\u202E\u2066-\u2069]/;

for (const args of [
	[hostile],
	['plan', hostile],
	['plan', '--json', hostile],
	['run', pipelines, '--export', hostile],
	['run', pipelines, `--${hostile}`],
	['run', pipelines, '--progress', hostile],
	['status', hostile],
	['report', hostile],
	['failures', hostile],
	['reset', hostile],
]) {
	const name = args.map((word) => word.replace(hostile, 'HOSTILE')).filter((w) => w !== pipelines);
	test(`the error of ${name.join(' ')} shows escape codes`, async (t) => {
		const { code, stdout, stderr } = await new CliScratch(t).run(...args);
		t.is(code, 2);
		t.is(stdout, '');
		t.notRegex(stderr, acting);
		t.regex(stderr, /^error: /);
		// some errors show the name as JavaScript writes it
		t.true(stderr.includes(shown) || /\\(x1b|u001b|x1B)\[2J/.test(stderr), stderr);
	});
}

test('paths and recorded errors with escape codes are shown', async (t) => {
	const scratch = new CliScratch(t);
	const store = join(scratch.path, hostile);
	cpSync(join(vectors, 'failed-for-good-2d'), store, { recursive: true });
	const report = { ...buggy.tasks[0]!, taskId: hostile };
	const failures = [{ ...report.failures[0]!, message: hostile, stack: `${hostile}\n${hostile}` }];
	const run = { startedAt: 1, finishedAt: 2, interrupted: null, runId: hostile };
	writeFileSync(join(store, 'runs.jsonl'), `${formatRunRecord({ ...report, failures }, run)}\n`);
	for (const args of [
		['status', hostile],
		['status', hostile, '--json'],
		['report', hostile],
		['report', hostile, '--json'],
		['failures', hostile],
		['reset', hostile, '--failed'],
		['reset', hostile],
	]) {
		const { code, stdout, stderr } = await scratch.run(...args);
		t.is(stderr, '');
		t.is(code, 0);
		t.notRegex(stdout, acting, args.join(' '));
		if (args.includes('--json')) t.notThrows(() => JSON.parse(stdout));
		else if (args[0] !== 'failures') t.true(stdout.includes(shown), stdout);
	}
});

test("a worker's error and a thrown one with escape codes are shown", async (t) => {
	const scratch = new CliScratch(t);
	scratch.linkPackage();
	mkdirSync(join(scratch.path, 'logs'));
	scratch.file(
		'block.mjs',
		`export default () => { throw new Error(${JSON.stringify(hostile)}); };\n`,
	);
	scratch.file(
		'task.mjs',
		`import { Roi, Task } from 'bellis';
export default new Task({ taskId: 'a', totalRoi: new Roi([0], [40]), readRoi: new Roi([0], [10]), writeRoi: new Roi([0], [10]),
	maxRetries: 0, maxWorkerRestarts: 1, processFunction: './block.mjs' });
`,
	);
	const abandoned = await scratch.run('run', 'task.mjs');
	t.is(abandoned.code, 3);
	const serial = await scratch.run('run', 'task.mjs', '--serial');
	t.is(serial.code, 1);
	for (const { stdout, stderr } of [abandoned, serial]) {
		t.notRegex(stdout, acting);
		t.notRegex(stderr, acting);
		t.true(stderr.includes(shown), stderr);
	}
	t.true(abandoned.stdout.includes(shown));
});
