import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { statusText } from '../../src/cli/status.ts';
import { formatRunRecord } from '../../src/tracking/run-record.ts';
import { buggy, clean } from '../report/seed-reports.ts';
import { CliScratch, golden, pipelines } from './run-cli.ts';

const vectors = fileURLToPath(new URL('../vectors/stores', import.meta.url));

/** A scratch directory in which the task `failing` was run: 6 of 8 blocks are done, 2 have failed. */
async function afterRun(t: ExecutionContext): Promise<CliScratch> {
	const scratch = new CliScratch(t);
	const options = ['--tracking-dir', 'run', '--progress', 'none', '--no-summary'];
	await scratch.run('run', pipelines, '-e', 'failing', ...options);
	return scratch;
}

test('status of a store', async (t) => {
	const scratch = await afterRun(t);
	const { code, stdout, stderr } = await scratch.run('status', 'run/failing');
	t.is(stderr, '');
	t.is(stdout, golden('status'));
	t.is(code, 0);
	const plain = JSON.parse((await scratch.run('status', 'run/failing', '--json')).stdout);
	t.like(plain, { path: '<dir>/run/failing', blocks: 8, done: 6, failed: 2, failedAttempts: 2 });
});

test('status of a tracking directory is that of its stores', async (t) => {
	const scratch = new CliScratch(t);
	mkdirSync(join(scratch.path, 'run'));
	for (const name of ['complete-1d', 'orphans-1d']) {
		cpSync(join(vectors, name), join(scratch.path, 'run', name), { recursive: true });
	}
	const { code, stdout } = await scratch.run('status', 'run');
	t.is(code, 0);
	t.deepEqual(stdout.match(/^<dir>.*$/gm), ['<dir>/run/complete-1d', '<dir>/run/orphans-1d']);
	const plain = JSON.parse((await scratch.run('status', 'run', '--json')).stdout);
	t.is(plain.length, 2);
	// the same form for a program, however many there are
	rmSync(join(scratch.path, 'run', 'orphans-1d'), { recursive: true });
	const [one, ...more] = JSON.parse((await scratch.run('status', 'run', '--json')).stdout);
	t.is(one.path, '<dir>/run/complete-1d');
	t.deepEqual(more, []);
	t.is(
		JSON.parse((await scratch.run('status', one.path.replace('<dir>/', ''), '--json')).stdout).path,
		one.path,
	);
});

test('nearly all is not all of a store', (t) => {
	const status = {
		path: '/data/run/a',
		exists: true,
		blocks: 100_000,
		done: 99_999,
		failed: 1,
		failedAttempts: 1,
		hasResources: false,
		layoutHash: null,
		heldBy: null,
	};
	const lines = statusText(status);
	t.is(lines[2], '    done      99999 (99.9%)');
	t.is(lines[3], '    failed    1 (1 failed attempt)');
});

test('failures of a store', async (t) => {
	const scratch = await afterRun(t);
	const { code, stdout } = await scratch.run('failures', 'run/failing');
	t.is(
		stdout,
		'failing/3  1 failed attempt  writes [30, 40)\nfailing/5  1 failed attempt  writes [50, 60)\n',
	);
	t.is(code, 0);
	const plain = JSON.parse((await scratch.run('failures', 'run/failing', '--json')).stdout);
	t.deepEqual(plain[0], {
		id: 'failing/3',
		cell: [3],
		attempts: 1,
		writeRoi: { offset: [30], shape: [10] },
	});
});

test('failures of a store that knows no layout are cells', async (t) => {
	const scratch = new CliScratch(t);
	cpSync(join(vectors, 'failed-for-good-2d'), join(scratch.path, 'seg'), { recursive: true });
	const { stdout } = await scratch.run('failures', 'seg');
	t.regex(stdout, /^(cell \(\d+, \d+\) +\d+ failed attempts?\n)+$/);
	cpSync(join(vectors, 'complete-1d'), join(scratch.path, 'all'), { recursive: true });
	t.is((await scratch.run('failures', 'all')).stdout, 'no block has failed\n');
});

test('reset --failed forgets failures only, reset removes the store', async (t) => {
	const scratch = await afterRun(t);
	const failures = await scratch.run('reset', 'run/failing', '--failed');
	t.is(failures.stdout, 'forgot the failures in <dir>/run/failing\n');
	t.is((await scratch.run('failures', 'run/failing')).stdout, 'no block has failed\n');
	t.regex((await scratch.run('status', 'run/failing')).stdout, /^ {4}done {6}6 /m);
	const all = await scratch.run('reset', 'run/failing');
	t.is(all.stdout, 'removed <dir>/run/failing\n');
	t.is(all.code, 0);
	t.false(existsSync(join(scratch.path, 'run/failing')));
	const again = await scratch.run('reset', 'run/failing');
	t.is(again.stderr, 'error: there is no tracking store in <dir>/run/failing\n');
	t.is(again.code, 2);
});

test('the report of the last run, with the numbers of the tutorial', async (t) => {
	const scratch = new CliScratch(t);
	mkdirSync(join(scratch.path, 'logs/mws'), { recursive: true });
	const run = { startedAt: 1_795_973_017, finishedAt: 1_795_973_018, interrupted: null };
	const records = [clean, buggy].map(({ tasks: [task] }, i) =>
		formatRunRecord(task!, { ...run, runId: `000000000000000${i}` }),
	);
	writeFileSync(join(scratch.path, 'logs/mws/runs.jsonl'), `${records.join('\n')}\n`);
	const { code, stdout, stderr } = await scratch.run('report', 'logs/mws');
	t.is(stderr, '');
	t.is(stdout, golden('report'));
	t.is(code, 0);
	const plain = JSON.parse((await scratch.run('report', 'logs/mws', '--json')).stdout);
	t.deepEqual(plain, JSON.parse(records[1]!));
});

test('a run leaves a report', async (t) => {
	const scratch = new CliScratch(t);
	await scratch.run(
		...['run', pipelines, '-e', 'measured', '--tracking-dir', 'run', '--progress', 'none'],
	);
	const { code, stdout } = await scratch.run('report', 'run/measured');
	t.is(code, 0);
	t.regex(stdout, /^Run [\da-f]{16} of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/);
	t.regex(stdout, /^ {4}measured ✔ +8 +8 +0 +0 +0$/m);
	t.regex(stdout, /^ {4}measured wall .* cpu /m);
});

const stores: [name: string, path: string, message: string][] = [
	['nothing there', 'nowhere', 'there is no tracking store in <dir>/nowhere'],
	[
		'a directory of other things',
		'other',
		'tracking store <dir>/other: contains notes.txt; it is not a tracking store and nothing in it was touched',
	],
	[
		'a directory of stores',
		'run',
		'run is not a tracking store itself; the stores in it are <dir>/run/a',
	],
];

for (const command of ['status', 'report', 'failures', 'reset']) {
	for (const [name, path, message] of stores) {
		if (command === 'status' && path === 'run') continue;
		test(`${command}: ${name} is one line and exit code 2`, async (t) => {
			const scratch = new CliScratch(t);
			mkdirSync(join(scratch.path, 'other'));
			scratch.file('other/notes.txt', 'mine');
			cpSync(join(vectors, 'complete-1d'), join(scratch.path, 'run/a'), { recursive: true });
			const { code, stdout, stderr } = await scratch.run(command, path);
			t.is(stderr, `error: ${message}\n`);
			t.is(stdout, '');
			t.is(code, 2);
			t.true(existsSync(join(scratch.path, 'other/notes.txt')));
			t.true(existsSync(join(scratch.path, 'run/a/zarr.json')));
		});
	}
}
