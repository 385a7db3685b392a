import test from 'ava';
import type { ErrorReport } from '../../src/error-report.js';
import {
	type BlockQueue,
	DRIVER_GONE,
	type LoopBlock,
	NO_MORE,
	NOTHING_YET,
	runBlocks,
} from '../../src/worker/block-loop.js';

/** A queue that gives what it is told and remembers verdicts. */
class ScriptedQueue implements BlockQueue {
	readonly log: string[] = [];
	readonly errors: ErrorReport[] = [];
	readonly #answers: number[];
	#wake: (() => void) | undefined;

	constructor(answers: number[]) {
		this.#answers = answers;
	}

	take(): number {
		return this.#answers.shift() ?? NOTHING_YET;
	}

	takeWait(): number {
		return this.take();
	}

	wait(): Promise<void> {
		if (this.#answers.length > 0) return Promise.resolve();
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}

	give(...answers: number[]): void {
		this.#answers.push(...answers);
		this.#wake?.();
		this.#wake = undefined;
	}

	finish(block: number): void {
		this.log.push(`finish ${block}`);
	}

	fail(block: number, error: ErrorReport): void {
		this.log.push(`fail ${block}`);
		this.errors.push(error);
	}
}

interface TestBlock extends LoopBlock {
	index: number;
}

const blockOf = (index: number): TestBlock => ({ index, status: 'created' });

function work(run: (block: TestBlock) => unknown, options = {}) {
	return { blockOf, run, concurrency: 1, stopOnError: false, ...options };
}

test('blocks are run in the order given, until there are no more', async (t) => {
	const queue = new ScriptedQueue([4, 2, NOTHING_YET, NOTHING_YET, 7, NO_MORE]);
	const seen: number[] = [];
	const result = await runBlocks(
		queue,
		work((block) => {
			t.is(block.status, 'processing');
			seen.push(block.index);
		}),
	);
	t.is(result.end, 'no-more');
	t.deepEqual(seen, [4, 2, 7]);
	t.deepEqual(queue.log, ['finish 4', 'finish 2', 'finish 7']);
});

test('a synchronous function never goes through a promise', async (t) => {
	const queue = new ScriptedQueue([0, 1, 2, NO_MORE]);
	let microtasks = 0;
	let seen = -1;
	await runBlocks(
		queue,
		work((block) => {
			queueMicrotask(() => microtasks++);
			if (block.index === 2) seen = microtasks;
		}),
	);
	t.is(seen, 0);
});

test('an asynchronous function is awaited before the next block', async (t) => {
	const queue = new ScriptedQueue([0, 1, NO_MORE]);
	const log: string[] = [];
	await runBlocks(
		queue,
		work(async (block) => {
			log.push(`begin ${block.index}`);
			await new Promise((resolve) => setImmediate(resolve));
			log.push(`end ${block.index}`);
		}),
	);
	t.deepEqual(log, ['begin 0', 'end 0', 'begin 1', 'end 1']);
});

test('the event loop gets a turn between blocks, however many there are', async (t) => {
	const queue = new ScriptedQueue([]);
	let stop = false;
	const endless: BlockQueue = Object.assign(queue, { take: () => (stop ? NO_MORE : 1) });
	setImmediate(() => {
		stop = true;
	});
	t.is(
		(
			await runBlocks(
				endless,
				work(() => {}),
			)
		).end,
		'no-more',
	);
	t.true(queue.log.length > 0);
});

for (const concurrency of [1, 3]) {
	test(`with ${concurrency} at once: a block that throws or rejects fails and the loop goes on`, async (t) => {
		const queue = new ScriptedQueue([0, 1, 2, NO_MORE]);
		const result = await runBlocks(
			queue,
			work(
				(block) => {
					if (block.index === 0) throw new TypeError('sync');
					return block.index === 1 ? Promise.reject(undefined) : Promise.resolve();
				},
				{ concurrency },
			),
		);
		t.is(result.end, 'no-more');
		t.deepEqual([...queue.log].sort(), ['fail 0', 'fail 1', 'finish 2']);
		t.deepEqual(queue.errors.map((error) => `${error.name}: ${error.message}`).sort(), [
			'ThrownValue: undefined',
			'TypeError: sync',
		]);
	});

	test(`with ${concurrency} at once: a block that throws ends the loop where workers are restarted`, async (t) => {
		const queue = new ScriptedQueue([0, 1, NO_MORE]);
		const boom = new Error('boom');
		const result = await runBlocks(
			queue,
			work(
				() => {
					throw boom;
				},
				{ concurrency, stopOnError: true },
			),
		);
		t.is(result.end, 'block-error');
		t.is(result.error, boom);
		t.deepEqual(queue.log, ['fail 0']);
	});

	test(`with ${concurrency} at once: a status set by the function is honoured without ending the loop`, async (t) => {
		const queue = new ScriptedQueue([0, 1, 2, DRIVER_GONE]);
		const result = await runBlocks(
			queue,
			work(
				(block) => {
					if (block.index === 1) block.status = 'failed';
					if (block.index === 2) block.status = 'success';
				},
				{ concurrency, stopOnError: true },
			),
		);
		t.is(result.end, 'driver-gone');
		t.deepEqual(queue.log, ['finish 0', 'fail 1', 'finish 2']);
		t.is(queue.errors[0]!.name, 'BlockFailed');
	});
}

test('several blocks are awaited at once, never more than allowed', async (t) => {
	const queue = new ScriptedQueue([0, 1, 2, 3]);
	const gates = new Map<number, () => void>();
	let most = 0;
	const loop = runBlocks(
		queue,
		work(
			(block) =>
				new Promise<void>((resolve) => {
					gates.set(block.index, resolve);
					most = Math.max(most, gates.size);
				}),
			{ concurrency: 3 },
		),
	);
	const open = (index: number) => {
		gates.get(index)!();
		gates.delete(index);
	};
	t.deepEqual([...gates.keys()], [0, 1, 2]);
	open(1);
	while (!gates.has(3)) await new Promise((resolve) => setImmediate(resolve));
	for (const index of [0, 2, 3]) open(index);
	// nothing in hand: the loop waits until the queue says so
	queue.give(4, NO_MORE);
	while (!gates.has(4)) await new Promise((resolve) => setImmediate(resolve));
	open(4);
	t.is((await loop).end, 'no-more');
	t.is(most, 3);
	t.deepEqual(queue.log[0], 'finish 1');
	t.is(queue.log.length, 5);
});

test('a block that threw lets those beside it finish before the worker ends', async (t) => {
	const queue = new ScriptedQueue([0, 1, 2]);
	let fail: (error: Error) => void = () => {};
	let finish: () => void = () => {};
	const loop = runBlocks(
		queue,
		work(
			(block) =>
				new Promise<void>((resolve, reject) => {
					if (block.index === 0) {
						fail = reject;
						return;
					}
					finish = resolve;
					// Not before the one beside it runs: a busy loop may leave the machine to others in between.
					fail(new Error('boom'));
				}),
			{ concurrency: 2, stopOnError: true },
		),
	);
	while (queue.log.length === 0) await new Promise((resolve) => setImmediate(resolve));
	finish();
	t.is((await loop).end, 'block-error');
	t.deepEqual(queue.log, ['fail 0', 'finish 1']);
});
