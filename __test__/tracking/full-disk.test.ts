import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { fixture, line, Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

/** A file system of a megabyte; null where none can be mounted, which takes the rights of root. */
function smallDisk(t: ExecutionContext, scratch: Scratch) {
	const at = scratch.path('disk');
	mkdirSync(at);
	const mount = (...options: string[]) =>
		spawnSync('mount', ['-o', options.join(','), '-t', 'tmpfs', 'bellis-test', at], {
			encoding: 'utf8',
		});
	const { status, stderr, error } = mount('size=1m');
	if (status !== 0) {
		t.log(`not checked, a file system can't be mounted here: ${error?.message ?? stderr.trim()}`);
		t.pass();
		return null;
	}
	// before the scratch folder is removed
	t.teardown(() => void spawnSync('umount', [at]));
	return { at, again: (options: string) => t.is(mount('remount', options).status, 0) };
}

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`a disk that fills up ends the run with an error, and with space again it goes on: ${how}`, async (t) => {
		const scratch = new Scratch(t);
		const disk = smallDisk(t, scratch);
		if (disk === null) return;
		const blocks = 40_000;
		const trackingPath = `${disk.at}/store`;
		const task = () =>
			line(
				scratch,
				blocks,
				{},
				{
					trackingPath,
					resourceTracking: true,
					processFunction: fixture('noop.js'),
					maxWorkers: 1,
				},
			);
		const options = { ...scratch.quiet, multiprocessing };
		const error = await t.throwsAsync(runBlockwise(task(), options), { code: 'ERR_BELLIS_STORE' });
		t.regex(error!.message, /Free some space and run again/);
		const marked = readFileSync(`${trackingPath}/done/c/0`).filter((mark) => mark === 1).length;
		t.true(marked > 0 && marked < blocks);
		t.is((await task().status()).done, marked);
		disk.again('size=8m');
		const { state } = await observe(task(), options);
		t.deepEqual([state.completed, state.skipped], [blocks, marked]);
	});
}

test('a read-only disk is refused before any block, and can be looked at', async (t) => {
	const scratch = new Scratch(t);
	const disk = smallDisk(t, scratch);
	if (disk === null) return;
	const task = line(scratch, 2, {}, { trackingPath: `${disk.at}/store`, skipMask: [0, 1] });
	t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing: false }));
	disk.again('ro');
	for (const multiprocessing of [true, false]) {
		await t.throwsAsync(runBlockwise(task, { ...scratch.quiet, multiprocessing }), {
			code: 'ERR_BELLIS_STORE',
			message: /writable file system/,
		});
	}
	t.is(scratch.lines().length, 1);
	t.like(await task.status(), { done: 1, blocks: 2 });
	t.is((await task.report()).blocks.completed, 2);
	await t.throwsAsync(task.reset(), { code: 'ERR_BELLIS_STORE', message: /writable file system/ });
});
