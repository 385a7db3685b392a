import type { Block } from './block.js';
import { Context } from './context.js';
import { ValidationError } from './errors.js';
import { clientClose, clientEnd, clientNew, clientStatus } from './native-client.js';
import { setLogDir } from './settings.js';
import { DRIVER_GONE, markedFailed, NOTHING_YET, settle } from './worker/block-loop.js';
import { ClientQueue } from './worker/client-queue.js';
import { describeError } from './worker/describe-error.js';
import { workerMark } from './worker/marker.js';
import { WorkerTask } from './worker/worker-task.js';

/** How long the thread waits for the next block before the event loop runs instead, in milliseconds. */
const SHORT_WAIT_MS = 1;

/**
 * A worker's line to its driver: asks for blocks and says how they ended. Made in a worker function, or in any
 * process whose environment has `BELLIS_CONTEXT`, such as one that a worker started.
 *
 * It connects on first use. When the driver is gone there is one warning, and there are no more blocks.
 *
 * @example
 * await using client = new Client()
 * while (await client.process(async (block) => segment(block.readRoi))) {}
 */
export class Client implements AsyncDisposable {
	readonly #queue: ClientQueue;
	readonly #inHand = new Map<Block, number>();
	#context: Context;
	#task: Promise<WorkerTask | null> | undefined;
	#gone = false;
	#closed: Promise<void> | undefined;

	/**
	 * @param context default: the one of this worker, or in the environment
	 * @throws {ValidationError} when there is no context or it can't be understood
	 */
	constructor(context: Context = ownContext()) {
		this.#context = context;
		setLogDir(context.logDir);
		const mark = workerMark();
		this.#queue = new ClientQueue(
			clientNew({
				context: context.toSecretText(),
				// a process of the user's own is not ours to end
				exitWhenGone: mark !== undefined,
			}),
		);
		mark?.queues.add(this.#queue);
	}

	/** Who the driver is and what the worker is called; with the task's `config` after the first use. */
	get context(): Context {
		return this.#context;
	}

	/** Whether the line to the driver stands. False before the first use. */
	get connected(): boolean {
		return this.#closed === undefined && !this.#gone && clientStatus(this.#queue.handle).connected;
	}

	/**
	 * The next block; null when there are no more, or the driver is gone. Each block must be released or
	 * failed; its timeout runs from here.
	 *
	 * @throws {ConnectionError} when the driver turns this worker away
	 */
	async acquireBlock(): Promise<Block | null> {
		if (this.#closed) return null;
		this.#task ??= this.#connect();
		const task = await this.#task;
		if (!task) return this.#driverGone();
		for (;;) {
			if (this.#closed) return null;
			let index = this.#queue.take();
			if (index === NOTHING_YET) index = this.#queue.takeWait(SHORT_WAIT_MS);
			if (index >= 0) {
				const block = task.blockOf(index);
				block.status = 'processing';
				this.#inHand.set(block, index);
				return block;
			}
			if (index === DRIVER_GONE) return this.#driverGone();
			if (index !== NOTHING_YET) return null;
			await this.#queue.wait();
		}
	}

	/**
	 * The block has been done. One whose status was set to `'failed'` has failed.
	 *
	 * @throws {ValidationError} when this client doesn't hold the block
	 */
	release(block: Block): void {
		settle(this.#queue, this.#give(block), block);
	}

	/**
	 * The block has failed; it is tried again while it has retries.
	 *
	 * @param error anything, as thrown
	 * @throws {ValidationError} when this client doesn't hold the block
	 */
	fail(block: Block, error?: unknown): void {
		const index = this.#give(block);
		block.status = 'failed';
		this.#queue.fail(index, error === undefined ? markedFailed() : describeError(error));
	}

	/**
	 * Runs one block: acquires it, calls `run`, releases it. What `run` throws is reported as the block's failure
	 * and thrown again.
	 *
	 * @returns whether there was a block
	 */
	async process(run: (block: Block) => unknown): Promise<boolean> {
		const block = await this.acquireBlock();
		if (!block) return false;
		try {
			await run(block);
		} catch (error) {
			if (this.#inHand.has(block)) this.fail(block, error);
			throw error;
		}
		if (this.#inHand.has(block)) this.release(block);
		return true;
	}

	/** Fails the blocks in hand, sends what is queued, and says goodbye. */
	close(): Promise<void> {
		this.#closed ??= this.#close();
		return this.#closed;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #connect(): Promise<WorkerTask | null> {
		const task = await WorkerTask.connect(this.#queue);
		if (task) this.#context = this.#context.withConfig(task.config());
		return task;
	}

	async #close(): Promise<void> {
		for (const block of [...this.#inHand.keys()]) {
			this.fail(block, new Error('the client was closed with the block in hand'));
		}
		workerMark()?.queues.delete(this.#queue);
		await clientClose(this.#queue.handle);
	}

	#give(block: Block): number {
		const index = this.#inHand.get(block);
		if (index === undefined) {
			throw new ValidationError(`this client doesn't hold block ${block.id}`, {
				path: 'block',
				value: block.id,
			});
		}
		this.#inHand.delete(block);
		return index;
	}

	#driverGone(): null {
		if (!this.#gone) {
			this.#gone = true;
			const reason = clientEnd(this.#queue.handle)?.reason ?? 'it is gone';
			process.emitWarning(
				`the driver at ${this.context.hostname}:${this.context.port} gives no more blocks: ${reason}`,
				{ code: 'BELLIS_DRIVER_GONE' },
			);
		}
		return null;
	}
}

function ownContext(): Context {
	const text = workerMark()?.contextText;
	return text === undefined ? Context.fromEnv() : Context.parse(text);
}
