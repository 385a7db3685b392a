import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import type { Block } from '../src/block.js';
import type { BlockBatch } from '../src/block-batch.js';
import { Roi } from '../src/geometry/roi.js';
import { chain } from '../src/pipeline.js';
import { Scheduler } from '../src/scheduler.js';
import { Task } from '../src/task/task.js';
import { task } from './task/tasks.js';

const free = { readWriteConflict: false };

function drain(scheduler: Scheduler, taskId: string): number[] {
	const seen: number[] = [];
	for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
		seen.push(block.index[0]!);
		scheduler.release(block);
	}
	return seen;
}

test('blocks come out once, and their status follows', (t) => {
	const scheduler = new Scheduler(task('a', free));
	const block = scheduler.acquire('a')!;
	t.is(block.id, 'a/0');
	t.is(block.status, 'processing');
	scheduler.release(block);
	t.is(block.status, 'success');
	t.deepEqual(drain(scheduler, 'a'), [1, 2, 3]);
	t.is(scheduler.acquire('a'), null);
	t.like(scheduler.states.a, { total: 4, completed: 4, done: true, started: true, ready: 0 });
});

test('a block that fails comes again until its attempts are used up, then orphans what needs it', (t) => {
	const upstream = task('up', { ...free, maxRetries: 1 });
	const downstream = task('down', free);
	const scheduler = new Scheduler(chain(upstream, downstream));
	const bad = scheduler.acquire('up')!;
	scheduler.fail(bad, new TypeError('first'));
	t.is(bad.status, 'failed');
	t.like(scheduler.states.up, { failed: 0, failedAttempts: 1, ready: 4 });
	t.deepEqual(
		[1, 2, 3].map(() => {
			const block = scheduler.acquire('up')!;
			scheduler.release(block);
			return block.index[0];
		}),
		[1, 2, 3],
	);
	const again = scheduler.acquire('up')!;
	t.is(again.index[0], 0);
	scheduler.fail(again, new RangeError('second'));
	const { up, down } = scheduler.states;
	t.like(up, { failed: 1, failedAttempts: 2, done: true });
	t.like(down, { orphaned: 1, ready: 3 });
	t.is(up!.failures.length, 1);
	t.like(up!.failures[0], { name: 'RangeError', message: 'second', attempt: 2, workerId: null });
	t.is(up!.failures[0]!.block, again);
	t.true(up!.firstError!.includes('first'));
	t.true(up!.lastError!.includes('second'));
	t.like(JSON.parse(JSON.stringify(up)), { total: 4, failed: 1, completed: 3 });
});

test('batches hold what single calls give', (t) => {
	const single = new Scheduler(task('a'));
	const batched = new Scheduler(task('a'));
	const batch = batched.acquireBatch('a', 100);
	t.is(batch.taskId, 'a');
	t.is(batch.length, 4);
	const expected = Array.from({ length: 4 }, () => single.acquire('a')!.id);
	t.deepEqual(
		[...batch].map(({ id }) => id),
		expected,
	);
	t.is(batch.at(2).id, expected[2]!);
	t.throws(() => batch.at(4), { instanceOf: RangeError });
	t.like(batched.states.a, { processing: 4 });
	batched.releaseBatch(batch, Uint8Array.of(0, 1, 0, 1));
	t.like(batched.states.a, { completed: 2, ready: 2, failedAttempts: 2, failed: 0 });
	t.deepEqual([...batched.acquireBatch('a', 5).indices], [1, 3]);
});

test('a batch of which one block is not held changes nothing', (t) => {
	const scheduler = new Scheduler(task('a', free));
	const batch = scheduler.acquireBatch('a', 4);
	scheduler.release(batch.at(3));
	t.throws(() => scheduler.releaseBatch(batch), { code: 'ERR_BELLIS_VALIDATION' });
	t.like(scheduler.states.a, { processing: 3, completed: 1 });
});

test('batches longer than the shared buffer come and go whole', (t) => {
	const count = 30_000;
	const many = task('many', { ...free, totalRoi: new Roi([0], [10 * count]), maxRetries: 0 });
	const scheduler = new Scheduler(many);
	const batch = scheduler.acquireBatch('many', count);
	t.is(batch.length, count);
	t.true(batch.indices.every((index, place) => index === place));
	const failed = new Uint8Array(count);
	failed[20_000] = 1;
	scheduler.releaseBatch(batch, failed);
	t.like(scheduler.states.many, { completed: count - 1, failed: 1, done: true });
	t.is(scheduler.states.many!.failures[0]!.block!.index[0], 20_000);
	t.is(scheduler.acquireBatch('many', 1).length, 0);
});

test('masks and check functions skip inside acquire', (t) => {
	const asked: string[] = [];
	const checkFunction = (block: Block) => {
		asked.push(block.id);
		return block.index[0] === 1;
	};
	const masked = task('a', { ...free, checkFunction, skipMask: [false, false, true, false] });
	const scheduler = new Scheduler(masked);
	t.deepEqual(drain(scheduler, 'a'), [0, 3]);
	t.deepEqual(asked, ['a/0', 'a/1', 'a/3']);
	t.like(scheduler.states.a, { completed: 4, skipped: 2, checkErrors: 0 });
	const batched = new Scheduler(masked);
	t.deepEqual([...batched.acquireBatch('a', 10).indices], [0, 3]);
});

test('a check function that throws, or gives no boolean, means that the block runs', (t) => {
	const answers: (() => unknown)[] = [
		() => {
			throw new Error('odd');
		},
		() => 1,
		() => Promise.reject(new Error('late')),
		() => true,
	];
	const checkFunction = ((block: Block) => answers[block.index[0]!]!()) as () => boolean;
	const scheduler = new Scheduler(task('a', { ...free, checkFunction }));
	t.deepEqual(drain(scheduler, 'a'), [0, 1, 2]);
	t.like(scheduler.states.a, { skipped: 1, checkErrors: 3 });
});

test.serial('the first error of a check function is told, the others are counted', async (t) => {
	const told = async (checkFunction: () => unknown) => {
		const warnings: string[] = [];
		const listen = (warning: Error & { code?: string }) => {
			if (warning.code === 'BELLIS_CHECK_ERROR') warnings.push(warning.message);
		};
		process.on('warning', listen);
		const scheduler = new Scheduler(
			task('a', { ...free, checkFunction: checkFunction as () => boolean }),
		);
		t.deepEqual(drain(scheduler, 'a'), [0, 1, 2, 3]);
		t.is(scheduler.states.a!.checkErrors, 4);
		// warnings come in a later turn
		await new Promise((resolve) => setImmediate(resolve));
		process.off('warning', listen);
		return warnings;
	};
	const begin = 'checkFunction of task "a"';
	const end = 'so blocks run';
	t.deepEqual(await told(async () => true), [
		`${begin} gave a promise, which only a run awaits, ${end}`,
	]);
	t.deepEqual(await told(() => 1), [`${begin} gave no boolean, ${end}`]);
	const broken = () => {
		throw new RangeError('odd');
	};
	t.deepEqual(await told(broken), [`${begin} threw RangeError: odd, ${end}`]);
});

test('stores are used when asked for: done blocks are skipped and what happens is recorded', (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-scheduler-'));
	t.teardown(() => rmSync(folder, { recursive: true }));
	const tracked = task('a', { ...free, trackingPath: join(folder, 'a') });
	const untouched = new Scheduler(tracked);
	t.is(drain(untouched, 'a').length, 4);

	const first = new Scheduler(tracked, { blockTracking: true });
	first.release(first.acquire('a')!);
	const batch = first.acquireBatch('a', 2);
	first.releaseBatch(batch, Uint8Array.of(0, 1));
	t.throws(() => new Scheduler(tracked, { blockTracking: true }), {
		code: 'ERR_BELLIS_STORE_LOCKED',
	});
	first[Symbol.dispose]();
	first[Symbol.dispose]();

	const second = new Scheduler(tracked, { blockTracking: true });
	t.deepEqual(drain(second, 'a'), [2, 3]);
	t.like(second.states.a, { completed: 4, skipped: 2 });
	second[Symbol.dispose]();

	const asked: number[] = [];
	const verified = task('a', {
		...free,
		trackingPath: join(folder, 'a'),
		checkFunction: ({ index }) => asked.push(index[0]!) !== 2,
		verifyDone: true,
	});
	const third = new Scheduler(verified, { blockTracking: true });
	t.deepEqual(drain(third, 'a'), [1]);
	t.deepEqual(asked, [0, 1, 2, 3]);
	third[Symbol.dispose]();
});

test('what is no block, task, batch or number of this scheduler is refused by path', (t) => {
	const own = task('a', free);
	const scheduler = new Scheduler(own);
	const other = new Scheduler(task('a', free));
	const block = scheduler.acquire('a')!;
	const cases: [string, () => void][] = [
		['taskId', () => scheduler.acquire('b')],
		['block', () => scheduler.release(other.acquire('a')!)],
		['block', () => scheduler.release({} as Block)],
		['block', () => scheduler.fail(null as unknown as Block)],
		['n', () => scheduler.acquireBatch('a', 0)],
		['n', () => scheduler.acquireBatch('a', 1.5)],
		['batch', () => scheduler.releaseBatch(other.acquireBatch('a', 1))],
		['batch', () => scheduler.releaseBatch([] as unknown as BlockBatch)],
		['failed', () => scheduler.releaseBatch(scheduler.acquireBatch('a', 1), new Uint8Array(2))],
		['blockTraking', () => new Scheduler(own, { blockTraking: true } as object)],
	];
	for (const [path, call] of cases) {
		t.like(t.throws(call, { code: 'ERR_BELLIS_VALIDATION' }, path), { path });
	}
	scheduler.release(block);
	const twice = t.throws(() => scheduler.release(block), { code: 'ERR_BELLIS_VALIDATION' });
	t.true(twice?.message.includes('not held'));
});

test('a batch whose indices were changed to what is none gives nothing back', (t) => {
	const scheduler = new Scheduler(task('a', free));
	const batch = scheduler.acquireBatch('a', 2);
	const held = batch.indices.slice();
	for (const bad of [1.5, -1, -2, Number.NaN, 2 ** 60, Number.POSITIVE_INFINITY]) {
		batch.indices[0] = bad;
		for (const failed of [undefined, Uint8Array.of(0, 0), Uint8Array.of(1, 0)]) {
			t.throws(() => scheduler.releaseBatch(batch, failed), { code: 'ERR_BELLIS_VALIDATION' });
		}
	}
	t.like(scheduler.states.a, { processing: 2, completed: 0, failedAttempts: 0 });
	batch.indices.set(held);
	scheduler.releaseBatch(batch);
	t.like(scheduler.states.a, { processing: 0, completed: 2 });
});

test('a scheduler that was disposed of keeps its states and touches no other one', (t) => {
	const own = task('a', free);
	const gone = new Scheduler(own);
	const block = gone.acquire('a')!;
	const batch = gone.acquireBatch('a', 2);
	gone[Symbol.dispose]();
	// may be given the native handle of the one before
	const other = new Scheduler(own);
	other.acquireBatch('a', 3);
	for (const call of [
		() => gone.acquire('a'),
		() => gone.acquireBatch('a', 1),
		() => gone.release(block),
		() => gone.fail(block),
		() => gone.releaseBatch(batch),
	]) {
		t.like(t.throws(call, { code: 'ERR_BELLIS_VALIDATION' }), { path: 'scheduler' });
	}
	gone[Symbol.dispose]();
	t.like(gone.states.a, { total: 4, processing: 3, ready: 1, completed: 0 });
	t.is(JSON.parse(JSON.stringify(gone.states)).a.processing, 3);
	t.like(other.states.a, { processing: 3, ready: 1, completed: 0 });
	t.is(other.acquire('a')!.index[0], 3);
});

test.serial('states that outlive their scheduler stay what they are', async (t) => {
	setFlagsFromString('--expose-gc');
	const collect: () => void = runInNewContext('gc');
	const statesOf = () => {
		const scheduler = new Scheduler(task('a', free));
		scheduler.acquireBatch('a', 2);
		return scheduler.states;
	};
	const states = statesOf();
	for (let turn = 0; turn < 5; turn++) {
		collect();
		await new Promise((resolve) => setImmediate(resolve));
	}
	// would be given the native handle of the one before, had it gone
	const other = new Scheduler(task('a', free));
	t.is(other.states.a!.processing, 0);
	t.like(states.a, { total: 4, processing: 2, ready: 2 });
});

test('a task of a billion blocks is made at once, and one beyond 2^53 blocks is refused', (t) => {
	const cube = (side: number) =>
		new Task({
			taskId: 'cube',
			totalRoi: new Roi([0, 0, 0], [side + 2, side + 2, side + 2]),
			readRoi: new Roi([0, 0, 0], [3, 3, 3]),
			writeRoi: new Roi([1, 1, 1], [1, 1, 1]),
		});
	const before = process.memoryUsage.rss();
	const scheduler = new Scheduler(cube(1000));
	t.is(scheduler.states.cube!.total, 1e9);
	t.is(scheduler.acquireBatch('cube', 1000).length, 1000);
	t.true(process.memoryUsage.rss() - before < 50e6);
	t.throws(() => new Scheduler(cube(1e6)), { code: 'ERR_BELLIS_VALIDATION' });
});
