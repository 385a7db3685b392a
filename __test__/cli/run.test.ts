import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CliScratch, pipelines } from './run-cli.ts';

const quiet = ['--progress', 'none', '--no-summary'];

test('all blocks completed: 0, the summary on stdout', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout, stderr } = await scratch.run(
		'run',
		pipelines,
		'--export',
		'good',
		'--progress',
		'none',
	);
	t.is(code, 0);
	t.is(stderr, '');
	t.regex(stdout, /^ {4}good ✔ +8 +8 +0 +0 +0$/m);
	t.regex(stdout, /^Resource Utilization$/m);
});

test('blocks failed: 1', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout } = await scratch.run(
		...['run', pipelines, '--export', 'failing', '--progress', 'none', '--failures-shown', '2'],
	);
	t.is(code, 1);
	t.regex(stdout, /^ {4}failing ✗ +8 +6 +0 +2 +0$/m);
	t.regex(stdout, /First 2 failures in task 'failing':/);
	t.regex(stdout, /^ {6}failing\/3 at \(3\), writes \[30, 40\), attempt 1, worker [01]$/m);
	t.regex(stdout, /Error: bad block failing\/3/);
	t.regex(stdout, /Error: bad block failing\/5/);
	t.regex(stdout, /See worker logs for details under <dir>\/bellis_logs\/failing\//);
});

test('a task was abandoned: 3, after the summary', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout, stderr } = await scratch.run(
		...['run', pipelines, '--export', 'abandoned', '--progress', 'none'],
	);
	t.is(code, 3);
	t.regex(stdout, /^ {4}abandoned ✗ +8 +0 +0 +2 +6$/m);
	t.regex(stderr, /^error: task "abandoned" was abandoned/m);
	t.regex(stderr, /maxWorkerRestarts/);
});

for (const [signal, expected] of [
	['SIGINT', 130],
	['SIGTERM', 143],
	['SIGHUP', 129],
] as const) {
	test(`interrupted by ${signal}: ${expected}, with the summary of what finished`, async (t) => {
		const scratch = new CliScratch(t);
		const gate = join(scratch.path, 'gate');
		const run = scratch.start(
			['run', pipelines, '--export', 'gated', '--progress', 'json', '--workers', '1'],
			{ env: { GATE: gate } },
		);
		const running = new Promise<void>((resolve) => {
			run.stdout?.on('data', (text: string) => {
				if (/"event":"progress".*"processing":[1-9]/.test(text)) resolve();
			});
		});
		await Promise.race([running, run.result]);
		const told = new Promise<void>((resolve) => {
			run.stderr?.on('data', (text: string) => {
				if (text.includes(`bellis ${signal}: no more blocks are handed out`)) resolve();
			});
		});
		run.kill(signal);
		// Not before the driver has taken note: the worker would be given more.
		await Promise.race([told, run.result]);
		writeFileSync(gate, '');
		const { code, stdout, stderr } = await run.result;
		t.is(code, expected);
		t.regex(stderr, new RegExp(`Interrupted by ${signal}`));
		t.regex(stderr, /^ {4}gated … +8 +1 +0 +0 +0$/m);
		t.regex(stderr, new RegExp(`^error: .*${signal}`, 'm'));
		t.is(JSON.parse(stdout.trim().split('\n').at(-1)!).event, 'finish');
	});
}

test('what cannot be run: 2, in one line', async (t) => {
	const scratch = new CliScratch(t);
	for (const [name, pattern] of [
		['uncovered', /'wider'/],
		['hungry', /needs 1 gpu for a worker/],
		['measured', /needs a tracking directory/],
	] as const) {
		const { code, stdout, stderr } = await scratch.run('run', pipelines, '-e', name, ...quiet);
		t.is(code, 2, name);
		t.regex(stderr, pattern);
		t.regex(stderr, /^error: [^\n]*\n$/);
		t.is(stdout, '');
	}
});

test('resources let a task run that requires them', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stderr } = await scratch.run(
		...['run', pipelines, '-e', 'hungry', '--resource', 'cpu=4', '--resource', 'gpu=1', ...quiet],
	);
	t.is(stderr, '');
	t.is(code, 0);
});

test('serial: inline functions run, and the first error of a block is thrown', async (t) => {
	const scratch = new CliScratch(t);
	const inline = await scratch.run('run', pipelines, '-e', 'inline', '--serial', ...quiet);
	t.is(inline.stderr, '');
	t.is(inline.code, 0);
	const failing = await scratch.run('run', pipelines, '-e', 'failing', '-s', ...quiet);
	t.is(failing.code, 1);
	t.regex(failing.stderr, /^Error: bad block failing\/3\n {4}at .*block\.js:/m);
});

test('directories and workers are those of the command line', async (t) => {
	const scratch = new CliScratch(t);
	const args = ['run', pipelines, '-e', 'good', '--workers', '1', '--tracking-dir', 'done'];
	const first = await scratch.run(...args, '--log-dir', 'logs', '--progress', 'none');
	t.is(first.code, 0, first.stderr);
	t.regex(first.stdout, /good {3}8 blocks, 1 worker,/);
	t.deepEqual(readdirSync(join(scratch.path, 'logs')), ['good']);
	t.true(existsSync(join(scratch.path, 'done/good/zarr.json')));
	t.false(existsSync(join(scratch.path, 'bellis_logs')));

	const again = await scratch.run(...args, '--log-mode', 'none', '--progress', 'lines');
	t.regex(again.stdout, /^ {4}good ✔ +8 +8 +8 +0 +0$/m);
	t.regex(
		again.stderr,
		/^bellis task 'good': skipped 8 of 8 blocks \(by the tracking store\); .*bellis reset <dir>\/done\/good/m,
	);
	const untracked = await scratch.run(...args, '--no-tracking', '--progress', 'none');
	t.regex(untracked.stdout, /^ {4}good ✔ +8 +8 +0 +0 +0$/m);
});

test('JSON progress on stdout puts the summary on stderr', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout, stderr } = await scratch.run(
		...['run', pipelines, '-e', 'good', '--progress', 'json'],
	);
	t.is(code, 0);
	const events = stdout
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	t.is(events[0].event, 'start');
	t.like(events.at(-1), { event: 'finish', task: 'good', total: 8, completed: 8, failed: 0 });
	t.regex(stderr, /^Execution Summary$/m);
});

test('what workers print keeps off a stdout that has JSON progress', async (t) => {
	const scratch = new CliScratch(t);
	scratch.linkPackage();
	const file = scratch.file(
		'prints.mjs',
		`import { Roi, Task } from 'bellis';
		const roi = (size) => new Roi([0], [size]);
		export default new Task({
			taskId: 'prints', totalRoi: roi(4), readRoi: roi(1), writeRoi: roi(1), readWriteConflict: false,
			processFunction: (block) => console.log('printed by ' + block.id),
		});`,
	);
	for (const logMode of ['console', 'both']) {
		const { code, stdout, stderr } = await scratch.run(
			...['run', file, '--progress', 'json', '--log-mode', logMode],
		);
		t.is(code, 0);
		for (const line of stdout.trim().split('\n')) t.is(JSON.parse(line).task, 'prints');
		t.is(stderr.match(/^printed by prints\/\d$/gm)?.length, 4);
	}
	const { stdout } = await scratch.run('run', file, '--progress', 'none', '--log-mode', 'console');
	t.is(stdout.match(/^printed by prints\/\d$/gm)?.length, 4);
});

test('fail-fast stops at the first failure', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout } = await scratch.run(
		...['run', pipelines, '-e', 'failing', '--workers', '1', '--fail-fast', '--progress', 'none'],
	);
	t.is(code, 1);
	t.regex(stdout, /^ {4}failing ✗ +8 +\d +0 +1 +\d$/m);
});
