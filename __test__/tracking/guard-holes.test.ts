import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Scheduler } from '../../src/scheduler.js';
import type { TaskOptions } from '../../src/task/task.js';
import { line, Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

const HOLES = 'Guard holes of the store';
const CHECK = '`checkFunction` and the store';

function stage(t: ExecutionContext, multiprocessing = false) {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const run = async (more: Partial<TaskOptions> = {}, deeds = {}) => {
		const task = line(scratch, 4, deeds, { trackingPath, maxWorkers: 1, ...more });
		return observe(task, { ...scratch.quiet, multiprocessing });
	};
	const marks = () => [...readFileSync(join(trackingPath, 'done/c/0'))];
	return { scratch, trackingPath, run, marks };
}

test(`${HOLES}: a missing document of the group never lets another layout skip`, async (t) => {
	const { scratch, trackingPath, run } = stage(t);
	await run();
	rmSync(join(trackingPath, 'zarr.json'));
	for (const more of [{}, { fit: 'shrink' } as const]) {
		const error = await t.throwsAsync(run(more), { code: 'ERR_BELLIS_STORE' });
		t.regex(error!.message, /has arrays but no zarr\.json/);
		t.true(error!.message.includes(`rm -rf ${trackingPath}`));
	}
	t.is(scratch.lines().length, 4);
	t.false(readdirSync(trackingPath).includes('zarr.json'));
});

for (const [what, codecs, chunk] of [
	['compressed', [{ name: 'bytes' }, { name: 'zstd', configuration: { level: 3 } }], [4]],
	['in two chunks', [{ name: 'bytes' }], [2]],
] as const) {
	test(`${HOLES}: a store without a hash that is ${what} is refused, not read as raw`, async (t) => {
		const { scratch, trackingPath, run } = stage(t);
		const files = {
			'zarr.json': '{"zarr_format":3,"node_type":"group"}',
			'done/zarr.json': JSON.stringify({
				zarr_format: 3,
				node_type: 'array',
				shape: [4],
				data_type: 'uint8',
				chunk_grid: { name: 'regular', configuration: { chunk_shape: chunk } },
				chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
				fill_value: 0,
				codecs,
			}),
			'done/c/0': '\u0001\u0001\u0001\u0001',
		};
		for (const [name, content] of Object.entries(files)) {
			mkdirSync(dirname(join(trackingPath, name)), { recursive: true });
			writeFileSync(join(trackingPath, name), content);
		}
		const error = await t.throwsAsync(run(), { code: 'ERR_BELLIS_STORE' });
		t.true(error!.message.includes(join(trackingPath, 'done/zarr.json')));
		t.deepEqual(scratch.lines(), []);
	});
}

test(`${HOLES}: a missing chunk is repaired with a notice, and skips nothing`, async (t) => {
	for (const multiprocessing of [true, false]) {
		const { scratch, trackingPath, run, marks } = stage(t, multiprocessing);
		await run();
		rmSync(join(trackingPath, 'done/c/0'));
		const { state, notices } = await run();
		t.is(state.skipped, 0);
		t.regex(notices['store-repaired']!, /was missing: all of its cells count as never written/);
		t.is(scratch.lines().length, 8);
		t.deepEqual(marks(), [1, 1, 1, 1]);
	}
});

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`${CHECK}: what is done is skipped without asking, what the function says is recorded (${how})`, async (t) => {
		const { scratch, run, marks } = stage(t, multiprocessing);
		const asked: number[] = [];
		const checkFunction: TaskOptions['checkFunction'] = (block) => {
			asked.push(block.index[0]!);
			return block.index[0] === 3;
		};
		await run({ skipMask: [0, 1, 1, 1] });
		t.deepEqual(marks(), [1, 0, 0, 0], 'a mask leaves nothing');
		const { state } = await run({ checkFunction, skipMask: [0, 0, 1, 0] });
		t.deepEqual(asked.sort(), [1, 3]);
		t.is(state.skipped, 3);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1 });
		t.deepEqual(marks(), [1, 1, 0, 1]);
	});

	test(`${CHECK}: with verifyDone a no makes a done block run again and be marked again (${how})`, async (t) => {
		const { scratch, run, marks } = stage(t, multiprocessing);
		await run();
		const asked: number[] = [];
		const checkFunction: TaskOptions['checkFunction'] = async (block) => {
			asked.push(block.index[0]!);
			return block.index[0] !== 2;
		};
		const { state } = await run({ checkFunction, verifyDone: true });
		t.deepEqual(asked.sort(), [0, 1, 2, 3]);
		t.is(state.skipped, 3);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 2, 3: 1 });
		t.deepEqual(marks(), [1, 1, 1, 1]);
	});
}

test(`${CHECK}: a done block that verifyDone takes back and that then fails is not done any more`, async (t) => {
	const { scratch, run, marks } = stage(t, true);
	await run();
	const more = { verifyDone: true, maxRetries: 0, onBlockError: 'keep-worker' } as const;
	const checkFunction: TaskOptions['checkFunction'] = (block) => block.index[0] !== 2;
	const { state } = await run({ ...more, checkFunction }, { 2: { do: 'throw' } });
	t.is(state.failed, 1);
	t.deepEqual(marks(), [1, 1, 0, 1]);
	const again = await run();
	t.is(again.state.skipped, 3);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 3, 3: 1 });
});

test(`${CHECK}: a scheduler of one's own takes the mark back before the block runs again`, async (t) => {
	const { scratch, trackingPath, run, marks } = stage(t);
	await run();
	const task = line(
		scratch,
		4,
		{},
		{
			trackingPath,
			maxRetries: 0,
			verifyDone: true,
			checkFunction: (block) => block.index[0] !== 2,
		},
	);
	const scheduler = new Scheduler(task, { blockTracking: true });
	const block = scheduler.acquire('line')!;
	t.deepEqual([...block.index], [2]);
	t.deepEqual(marks(), [1, 1, 0, 1], 'a process that dies now leaves no mark');
	scheduler.fail(block);
	t.is(scheduler.acquire('line'), null);
	scheduler[Symbol.dispose]();
	t.deepEqual(marks(), [1, 1, 0, 1]);

	const another = new Scheduler(task, { blockTracking: true });
	another.release(another.acquire('line')!);
	another[Symbol.dispose]();
	t.deepEqual(marks(), [1, 1, 1, 1]);
});
