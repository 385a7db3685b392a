import type { BlockStatus } from '../block.js';

import type { ErrorReport } from '../error-report.js';
import { describeError } from './describe-error.js';

/** What {@link BlockQueue.take} gives instead of a block. */
export const NOTHING_YET = -1;
/** No more blocks: the worker is sent home. */
export const NO_MORE = -3;
/** The driver is gone. */
export const DRIVER_GONE = -4;

/** The native client as the loop sees it: block indices in, verdicts out. */
export interface BlockQueue {
	/** The next block, now the current one; or one of the negative answers above. */
	take(): number;
	/** As `take`, but blocks the thread for up to `maxWaitMs` milliseconds. */
	takeWait(maxWaitMs: number): number;
	/** Settles when `take` would give something else than {@link NOTHING_YET}. */
	wait(): Promise<void>;
	finish(block: number): void;
	fail(block: number, error: ErrorReport): void;
}

/** The part of a block that the loop touches. */
export interface LoopBlock {
	status: BlockStatus;
}

/** What the loop runs. */
export interface BlockWork<B extends LoopBlock> {
	/** The block at a row-major index of the task's grid. */
	blockOf(index: number): B;
	/** The user's function; what it returns is ignored unless it is a promise. */
	run(block: B): unknown;
	/** How many asynchronous blocks run at once. */
	readonly concurrency: number;
	/** Whether a block that threw ends the loop. */
	readonly stopOnError: boolean;
}

/** Why a loop ended. */
export type LoopEnd = 'no-more' | 'driver-gone' | 'block-error';

/** The block whose function threw, and what. */
export interface LoopResult {
	readonly end: LoopEnd;
	/** What the block threw; undefined for other ends. */
	readonly error?: unknown;
}

/** How long the thread waits for the next block before it lets the event loop run instead. */
const SHORT_WAIT_MS = 1;
/** After how long at the latest timers and I/O of the user's module get a turn. */
const YIELD_MS = 10;

/** Runs blocks until there are no more, the driver is gone, or one threw and `stopOnError` is set. */
export function runBlocks<B extends LoopBlock>(
	queue: BlockQueue,
	work: BlockWork<B>,
): Promise<LoopResult> {
	return work.concurrency > 1 ? runSeveral(queue, work) : runOneByOne(queue, work);
}

async function runOneByOne<B extends LoopBlock>(
	queue: BlockQueue,
	work: BlockWork<B>,
): Promise<LoopResult> {
	let lastYield = performance.now();
	for (;;) {
		let index = queue.take();
		if (index === NOTHING_YET) {
			index = queue.takeWait(SHORT_WAIT_MS);
			if (index === NOTHING_YET) {
				await queue.wait();
				lastYield = performance.now();
				continue;
			}
		}
		if (index < 0) return { end: endOf(index) };
		const block = work.blockOf(index);
		block.status = 'processing';
		try {
			const result = work.run(block);
			// a synchronous function never goes through a promise
			if (isThenable(result)) await result;
		} catch (error) {
			block.status = 'failed';
			queue.fail(index, describeError(error));
			if (work.stopOnError) return { end: 'block-error', error };
			continue;
		}
		settle(queue, index, block);
		const now = performance.now();
		if (now - lastYield > YIELD_MS) {
			await nextTurn();
			lastYield = performance.now();
		}
	}
}

async function runSeveral<B extends LoopBlock>(
	queue: BlockQueue,
	work: BlockWork<B>,
): Promise<LoopResult> {
	let active = 0;
	let stop: LoopResult | undefined;
	let wake: () => void = () => {};
	let waiting: Promise<void> | undefined;
	let lastYield = performance.now();

	const failed = (index: number, block: B, error: unknown) => {
		block.status = 'failed';
		queue.fail(index, describeError(error));
		if (work.stopOnError) stop ??= { end: 'block-error', error };
	};
	const follow = async (index: number, block: B, result: PromiseLike<unknown>) => {
		try {
			await result;
			settle(queue, index, block);
		} catch (error) {
			failed(index, block, error);
		} finally {
			active--;
			wake();
		}
	};

	for (;;) {
		while (!stop && active < work.concurrency) {
			const index = queue.take();
			if (index === NOTHING_YET) break;
			if (index < 0) {
				stop = { end: endOf(index) };
				break;
			}
			const block = work.blockOf(index);
			block.status = 'processing';
			try {
				const result = work.run(block);
				if (isThenable(result)) {
					active++;
					void follow(index, block, result);
				} else {
					settle(queue, index, block);
				}
			} catch (error) {
				failed(index, block, error);
			}
			if (performance.now() - lastYield > YIELD_MS) {
				await nextTurn();
				lastYield = performance.now();
			}
		}
		// what is already running is finished first
		if (stop && active === 0) return stop;
		const freed = new Promise<void>((resolve) => {
			wake = resolve;
		});
		if (!stop && active < work.concurrency) {
			waiting ??= queue.wait().finally(() => {
				waiting = undefined;
			});
			await Promise.race([freed, waiting]);
		} else {
			await freed;
		}
		lastYield = performance.now();
	}
}

/** Reports a block whose function returned: the function may have set the status itself. */
export function settle(queue: BlockQueue, index: number, block: LoopBlock): void {
	if (block.status === 'processing' || block.status === 'success') {
		block.status = 'success';
		queue.finish(index);
	} else {
		block.status = 'failed';
		queue.fail(index, markedFailed());
	}
}

/** What is reported for a block whose function set its status and returned. */
export function markedFailed(): ErrorReport {
	return {
		name: 'BlockFailed',
		message: "the block function set the block's status to 'failed'",
		stack: null,
		details: '{}',
	};
}

function endOf(answer: number): LoopEnd {
	return answer === DRIVER_GONE ? 'driver-gone' : 'no-more';
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return (
		typeof value === 'object' &&
		value !== null &&
		typeof (value as { then?: unknown }).then === 'function'
	);
}

function nextTurn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
