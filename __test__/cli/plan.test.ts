import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CliScratch, golden, pipelines } from './run-cli.ts';

test('a plan says what a run would do, and does nothing', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout, stderr } = await scratch.run('plan', pipelines, '--tracking-dir', 'run');
	t.is(stderr, '');
	t.is(stdout, golden('plan'));
	t.is(code, 0);
	t.false(existsSync(join(scratch.path, 'run')));
	t.false(existsSync(join(scratch.path, 'bellis_logs')));
});

test('a plan counts what is done', async (t) => {
	const scratch = new CliScratch(t);
	const failing = [pipelines, '--export', 'failing', '--tracking-dir', 'run'];
	await scratch.run('run', ...failing, '--progress', 'none', '--no-summary');
	const { stdout } = await scratch.run('plan', ...failing);
	t.regex(stdout, /^ {4}store {6}<dir>\/run\/failing \(6 done, 2 failed; 40\.0 B when full\)$/m);
	t.regex(stdout, /^ {4}skips {6}6 \(6 done, 0 masked\)$/m);
	t.regex(stdout, /^A run would do 2 of 8 blocks on at most 2 workers\.$/m);
});

test('a block that is done and masked as well is counted once', async (t) => {
	const scratch = new CliScratch(t);
	const tracked = ['--tracking-dir', 'run', '--progress', 'none', '--no-summary'];
	await scratch.run('run', pipelines, '--export', 'failing', ...tracked);
	// the same task in the same store: 3 and 5 have failed, the mask takes 5, 6 and 7
	const masked = scratch.file(
		'masked.mjs',
		`import { failing } from ${JSON.stringify(pipelines)};
import { Task } from 'bellis';
const { taskId, totalRoi, readRoi, writeRoi, readWriteConflict } = failing;
const skipMask = new Uint8Array(8).fill(1, 5);
export default new Task({ taskId, totalRoi, readRoi, writeRoi, readWriteConflict, skipMask, processFunction: () => {} });
`,
	);
	scratch.linkPackage();
	const { stdout, stderr } = await scratch.run('plan', masked, '--tracking-dir', 'run');
	t.is(stderr, '');
	t.regex(stdout, /^ {4}skips {6}7 \(6 done, 3 masked\)$/m);
	t.regex(stdout, /^A run would do 1 of 8 blocks on at most 1 worker\.$/m);
	const run = await scratch.run('run', masked, '--serial', ...tracked.slice(0, 4));
	t.regex(run.stdout, /^ {4}failing ✔ +8 +8 +7 +0 +0$/m, 'a run does as the plan says');
});

test('a plan as JSON', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout } = await scratch.run('plan', pipelines, '--workers', '3', '--json');
	t.is(code, 0);
	const plan = JSON.parse(stdout);
	t.deepEqual(plan.edges, [['fragments', 'relabel']]);
	const [fragments, relabel] = plan.tasks;
	t.is(fragments.taskId, 'fragments');
	t.is(fragments.blocks, 10);
	t.is(fragments.maxWorkers, 3);
	t.deepEqual(fragments.skips, { done: 0, masked: 2, blocks: 2, checked: false });
	t.is(fragments.store, null);
	t.deepEqual(relabel.upstream, ['fragments']);
	t.deepEqual(relabel.uncovered, [{ axis: 0, begin: 80, end: 90 }]);
	t.deepEqual(relabel.last.writeRoi, { begin: [60, 30], end: [80, 60] });
});

test('a plan says what a run would refuse', async (t) => {
	const scratch = new CliScratch(t);
	const uncovered = await scratch.run('plan', pipelines, '--export', 'uncovered');
	t.regex(uncovered.stdout, /\nA run would refuse this: .*'wider'.*\n$/);
	t.is(uncovered.code, 0);
	const hungry = await scratch.run('plan', pipelines, '--export', 'hungry');
	t.regex(hungry.stdout, /\nA run would refuse this: .* needs 1 gpu for a worker/);
	const fed = await scratch.run('plan', pipelines, '--export', 'hungry', '--resource', 'gpu=1');
	t.notRegex(fed.stdout, /refuse/);
	const measured = await scratch.run('plan', pipelines, '--export', 'measured');
	t.regex(measured.stdout, /\nA run would refuse this: .* needs a tracking directory/);
});
