import { Block } from '../block.js';
import { Context } from '../context.js';
import { type LoadedFunction, loadInProcess } from '../functions/load.js';
import type { NativeRunConfig, NativeRunResult, NativeRunSnapshot } from '../native.js';
import {
	MORE_TO_SKIP,
	serialBegin,
	serialChecked,
	serialEnd,
	serialFail,
	serialGiveBack,
	serialNotices,
	serialProfileEnd,
	serialProfileStart,
	serialRelease,
	serialStart,
	serialStates,
	serialTake,
} from '../native-run.js';
import { setProfiler } from '../profile-block.js';
import { errorHeadline } from '../report/error-text.js';
import type { Task } from '../task/task.js';
import { markedFailed } from '../worker/block-loop.js';
import { describeError } from '../worker/describe-error.js';
import { CHECK_FAILED, checkBlocks, NOT_DONE } from './check-blocks.js';
import type { RunDriver } from './run-driver.js';
import type { RunListener } from './run-listener.js';
import type { SerialOrder } from './serial-order.js';

/** After how long at the latest signals and timers get a turn between synchronous blocks. */
const YIELD_MS = 10;

/** Timers of longer fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What ended a serial run early. */
export interface SerialFailure {
	/** As the function threw it. */
	readonly error: unknown;
}

/**
 * A run in this process: block after block, the user's function called directly, no retries, no timeout.
 * The first block that throws ends it.
 */
export class SerialRun implements RunDriver {
	readonly finished: Promise<NativeRunResult>;
	/** Set when a block, a setup or a teardown threw. */
	failure: SerialFailure | null = null;
	readonly workerError = null;
	readonly address = null;
	readonly #config: NativeRunConfig;
	readonly #tasks: readonly Task[];
	readonly #order: SerialOrder;
	readonly #listener: RunListener;
	readonly #killed: Promise<void>;
	#kill: () => void = () => {};
	#grace: NodeJS.Timeout | undefined;
	readonly #stopped: Promise<void>;
	#stop: () => void = () => {};
	#settle: (result: NativeRunResult | Promise<NativeRunResult>) => void = () => {};
	#fail: (error: unknown) => void = () => {};
	#native: number | undefined;
	#stopping = false;
	#ended = false;
	/** Blocks that said by their status that they failed, and how many of them end the run. */
	#failedBlocks = 0;
	readonly #maxFailures: number;
	readonly #warned = new Set<Task>();

	constructor(
		config: NativeRunConfig,
		tasks: readonly Task[],
		order: SerialOrder,
		listener: RunListener,
	) {
		this.#config = config;
		this.#tasks = tasks;
		this.#order = order;
		this.#maxFailures = config.failFast ? 1 : (config.maxFailures ?? Number.POSITIVE_INFINITY);
		this.#listener = listener;
		this.#killed = new Promise((resolve) => {
			this.#kill = resolve;
		});
		this.#stopped = new Promise((resolve) => {
			this.#stop = resolve;
		});
		this.finished = new Promise((resolve, reject) => {
			this.#settle = resolve;
			this.#fail = reject;
		});
	}

	async start(): Promise<void> {
		this.#native = await serialStart(this.#config);
		for (const event of serialNotices(this.#native)) {
			if (event.kind !== 'notice') continue;
			this.#listener.onNotice(event.task === null ? null : this.#tasks[event.task]!, event);
		}
		// the caller has to see that it began before the first block runs
		setImmediate(() => void this.#run());
	}

	snapshot(): NativeRunSnapshot | null {
		if (this.#native === undefined || this.#ended) return null;
		return { tasks: serialStates(this.#native), oldestRunning: null };
	}

	/**
	 * Lets the block that runs finish, but waits for an asynchronous one no longer than the grace. While
	 * a synchronous one runs, signals aren't even seen.
	 */
	interrupt(): void {
		if (this.#stopping) return;
		this.#stopping = true;
		this.#stop();
		const grace = Math.min(this.#config.shutdownGraceMs, LONGEST_TIMER_MS);
		this.#grace = setTimeout(this.#kill, grace);
	}

	/** Waits for no asynchronous block that runs. */
	kill(): void {
		this.interrupt();
		this.#kill();
	}

	async #run(): Promise<void> {
		const native = this.#native!;
		try {
			this.failure = (await Promise.race([this.#runAll(native), this.#killed])) ?? null;
		} catch (error) {
			this.failure = { error };
		}
		clearTimeout(this.#grace);
		this.#ended = true;
		try {
			this.#settle(await serialEnd(native, this.#outcome));
		} catch (error) {
			this.#fail(error);
		}
	}

	get #outcome(): NativeRunResult['outcome'] {
		if (this.failure) return 'failed';
		if (this.#stopping) return 'interrupted';
		return this.#hasFailedEnough ? 'failure-limit' : 'finished';
	}

	get #hasFailedEnough(): boolean {
		return this.#failedBlocks >= this.#maxFailures;
	}

	async #runAll(native: number): Promise<SerialFailure | null> {
		const runners = this.#tasks.map((task) => new TaskRunner(task, this.#config));
		let first: SerialFailure | null = null;
		const attempt = async (call: () => Promise<void>) => {
			try {
				await call();
			} catch (error) {
				first ??= { error };
			}
		};
		await attempt(() => this.#runBlocks(native, runners));
		// every task's, and what one of them throws doesn't hide what came before
		for (const runner of runners) await attempt(() => runner.teardown());
		return first;
	}

	async #runBlocks(native: number, runners: readonly TaskRunner[]): Promise<void> {
		let last = performance.now();
		while (!this.#stopping && !this.#hasFailedEnough) {
			const next = this.#order.next((task) => serialTake(native, task));
			if (next === null) return;
			const begun = performance.now();
			if (begun - last > YIELD_MS) {
				await new Promise((resolve) => setImmediate(resolve));
				last = performance.now();
			}
			const { task, taken } = next;
			if (taken !== MORE_TO_SKIP) await this.#runBlock(native, task, runners[task]!, taken);
		}
	}

	async #runBlock(native: number, at: number, runner: TaskRunner, index: number): Promise<void> {
		const block = Block.at(runner.task.geometry, index);
		if (runner.task.checkFunction && (await this.#isDone(native, at, runner.task, block, index))) {
			return;
		}
		if (this.#stopping) {
			serialGiveBack(native, at, index);
			return;
		}
		try {
			await runner.prepare();
		} catch (error) {
			serialGiveBack(native, at, index);
			throw error;
		}
		try {
			setProfiler(block, {
				start: () => serialProfileStart(native),
				end: () => serialProfileEnd(native),
			});
			block.status = 'processing';
			serialBegin(native, at, index);
			const result = runner.run(block);
			if (isThenable(result)) await result;
		} catch (error) {
			block.status = 'failed';
			if (!this.#ended) serialFail(native, at, index, describeError(error));
			throw error;
		}
		if (this.#ended) return;
		if (block.status === 'processing' || block.status === 'success') {
			block.status = 'success';
			block.stats = serialRelease(native, at, index);
		} else {
			serialFail(native, at, index, markedFailed());
			this.#failedBlocks++;
		}
	}

	async #isDone(
		native: number,
		at: number,
		task: Task,
		block: Block,
		index: number,
	): Promise<boolean> {
		// an answer that never comes doesn't hold up the end of a run
		const checked = await Promise.race([checkBlocks(task.checkFunction!, [block]), this.#stopped]);
		if (this.#ended) return true;
		if (!checked) {
			serialGiveBack(native, at, index);
			return true;
		}
		const { answers, firstError } = checked;
		const answer = answers[0]!;
		serialChecked(native, at, index, answer);
		if (firstError && !this.#warned.has(task)) {
			this.#warned.add(task);
			const [first = ''] = firstError.message.trim().split('\n', 1);
			const headline = errorHeadline({ name: firstError.name, message: first });
			const message = `checkFunction failed, so blocks run: ${headline}`;
			this.#listener.onNotice(task, { level: 'warning', code: 'check-error', message });
		}
		return answer !== NOT_DONE && answer !== CHECK_FAILED;
	}
}

/** A task's function in this process, loaded and set up when its first block comes. */
class TaskRunner {
	readonly task: Task;
	readonly #context: Context;
	#loaded: LoadedFunction | undefined;

	constructor(task: Task, { logDir }: NativeRunConfig) {
		this.task = task;
		this.#context = Context.of({
			hostname: 'localhost',
			port: 0,
			taskId: task.taskId,
			workerId: null,
			logDir,
			resourceTracking: task.resourceTracking,
			machine: null,
			secret: null,
			connectionFile: null,
			config: task.config,
		});
	}

	async prepare(): Promise<void> {
		if (this.#loaded) return;
		const loaded = await loadInProcess(this.task.functionReference!);
		await loaded.setup?.(this.#context);
		this.#loaded = loaded;
	}

	run(block: Block): unknown {
		return this.#loaded!.run(block, this.#context);
	}

	async teardown(): Promise<void> {
		await this.#loaded?.teardown?.(this.#context);
	}
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return (
		typeof value === 'object' &&
		value !== null &&
		typeof (value as { then?: unknown }).then === 'function'
	);
}
