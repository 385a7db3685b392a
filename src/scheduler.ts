import { Block } from './block.js';
import { BlockBatch } from './block-batch.js';
import type { BlockGeometry } from './block-geometry.js';
import { ValidationError } from './errors.js';
import { BATCH, type NativeScheduledTask } from './native.js';
import {
	DROPPED,
	schedulerAcquire,
	schedulerAcquireBatch,
	schedulerClose,
	schedulerCounters,
	schedulerFail,
	schedulerFree,
	schedulerNew,
	schedulerRelease,
	schedulerReleaseBatch,
	schedulerSkip,
	schedulerTakeBack,
} from './native-scheduler.js';
import { boolean, filePath } from './option-checks.js';
import { option, optional, readOptions } from './option-table.js';
import { type PipelinePart, readPipeline } from './pipeline.js';
import { PipelineTasks } from './pipeline-tasks.js';
import { plainLine } from './report/plain-text.js';
import { LiveTaskState } from './scheduler-state.js';
import { currentSettings } from './settings.js';
import { showValue } from './show-value.js';
import type { CheckFunction } from './task/options.js';
import type { Task } from './task/task.js';
import type { TaskState } from './task-state.js';
import { trackingPathOf } from './tracking/tracking-path.js';
import { describeError } from './worker/describe-error.js';

const handles = new FinalizationRegistry<number>(schedulerFree);

/** A task inside a scheduler. */
interface Scheduled {
	readonly position: number;
	readonly geometry: BlockGeometry;
	readonly check: CheckFunction | undefined;
	/** Whether the check is asked about blocks that are marked as done, too. */
	readonly verifies: boolean;
	readonly state: LiveTaskState;
}

/** Options of a {@link Scheduler}. */
export interface SchedulerOptions {
	/** Whether done blocks are skipped and what becomes of the others is recorded, in the tasks' stores. Default false. */
	blockTracking?: boolean | undefined;
	/** Parent of the stores of tasks without a `trackingPath`; null for none. Default: as set for the process. */
	trackingDir?: string | URL | null | undefined;
}

const SCHEDULER_OPTIONS = {
	blockTracking: option(boolean, false),
	trackingDir: optional<string | null>((value, path) =>
		value === null ? null : filePath(value, path),
	),
};

/**
 * Hands out the blocks of tasks in an order in which no two conflicting ones are ever out together, for people
 * who run them on their own, without workers. Masks and synchronous check functions are honoured.
 *
 * @example
 * const scheduler = new Scheduler(task)
 * for (let block; (block = scheduler.acquire('fragments')); ) scheduler.release(work(block))
 */
export class Scheduler {
	/** What became of each task's blocks so far, by task id. The numbers are those of the moment of reading. */
	readonly states: Readonly<Record<string, TaskState>>;
	#handle: number;
	readonly #tasks: PipelineTasks;
	readonly #scheduled: readonly Scheduled[];

	/**
	 * @throws UncoveredError for a block that reads nothing that an upstream task writes; PipelineError for a cycle or
	 * an id that two tasks have; ValidationError for a task of more than 2^53 blocks; with stores also StoreError,
	 * StoreLockedError and LayoutMismatchError
	 */
	constructor(tasks: PipelinePart | readonly PipelinePart[], options: SchedulerOptions = {}) {
		const pipeline = readPipeline(tasks);
		const { blockTracking, trackingDir } = readOptions(options, SCHEDULER_OPTIONS, {
			what: 'scheduler option',
		});
		const place = {
			blockTracking,
			trackingDir: trackingDir === undefined ? currentSettings().trackingDir : trackingDir,
		};
		this.#tasks = new PipelineTasks(pipeline);
		const handle = schedulerNew(
			pipeline.tasks.map((task) => scheduledTask(task, trackingPathOf(task, place))),
			this.#tasks.edges,
		);
		this.#handle = handle;
		handles.register(this, handle, this);
		this.#scheduled = pipeline.tasks.map((task, position) => ({
			position,
			geometry: task.geometry,
			check: task.checkFunction,
			verifies: task.verifyDone,
			state: new LiveTaskState(() => schedulerCounters(this.#handle, position), task),
		}));
		this.states = Object.freeze(
			Object.fromEntries(
				pipeline.tasks.map(({ taskId }, position) => [taskId, this.#scheduled[position]!.state]),
			),
		);
	}

	/**
	 * The next block of a task; null when none is ready, which may change with a release. Blocks that are masked, or
	 * done according to the check function, are skipped on the way.
	 */
	acquire(taskId: string): Block | null {
		const task = this.#scheduled[this.#tasks.position(taskId)]!;
		for (;;) {
			const index = schedulerAcquire(this.#handle, task.position);
			if (index < 0) return null;
			const block = Block.at(task.geometry, index);
			if (task.check !== undefined) {
				if (this.#isDone(task, task.check, block)) {
					schedulerSkip(this.#handle, task.position, index);
					continue;
				}
				// before it runs: a process that dies over it must not leave it marked
				if (task.verifies) schedulerTakeBack(this.#handle, task.position, index);
			}
			block.status = 'processing';
			return block;
		}
	}

	/** The block is done: blocks that waited for it may become ready. */
	release(block: Block): void {
		const position = this.#tasks.positionOf(block);
		schedulerRelease(this.#handle, position, Block.flatIndexOf(block) as number);
		block.status = 'success';
	}

	/** An attempt at the block failed: it comes again after all that are ready now, unless it was the last one. */
	fail(block: Block, error?: unknown): void {
		const position = this.#tasks.positionOf(block);
		const permanent = schedulerFail(this.#handle, position, Block.flatIndexOf(block) as number);
		block.status = 'failed';
		this.#scheduled[position]!.state.failedAttempt(block, permanent, error);
	}

	/** Up to `n` blocks of a task at once, in the order of {@link acquire}. */
	acquireBatch(taskId: string, n: number): BlockBatch {
		const task = this.#scheduled[this.#tasks.position(taskId)]!;
		if (!Number.isSafeInteger(n) || n < 1) {
			throw new ValidationError(`n must be a positive integer, not ${showValue(n)}`, {
				path: 'n',
				value: n,
			});
		}
		return BlockBatch.of(task.geometry, this.#acquireIndices(task, n));
	}

	/**
	 * Gives back a batch, of which those blocks have failed that `failed` marks with something other than 0.
	 * Of each 8192 blocks, either all are given back or, if one of them isn't held, none.
	 */
	releaseBatch(batch: BlockBatch, failed?: Uint8Array): void {
		const task = this.#ofBatch(batch);
		if (failed !== undefined) requireFlags(failed, batch.length);
		schedulerReleaseBatch(this.#handle, task.position, batch.indices, failed, (i, permanent) => {
			const block = batch.at(i);
			block.status = 'failed';
			task.state.failedAttempt(block, permanent, undefined);
		});
	}

	/**
	 * Writes the stores to the disk, gives their locks back and frees the memory; the states stay as they are then.
	 * Without it that happens, but for the waiting for the disk, when nobody holds the scheduler any more.
	 */
	[Symbol.dispose](): void {
		if (!handles.unregister(this)) return;
		const handle = this.#handle;
		for (const { state } of this.#scheduled) state.freeze();
		this.#handle = DROPPED;
		schedulerClose(handle);
	}

	#acquireIndices(task: Scheduled, n: number): Float64Array {
		if (task.check !== undefined) return this.#acquireChecked(task, n);
		const first = schedulerAcquireBatch(this.#handle, task.position, Math.min(n, BATCH));
		if (first.length < BATCH || n === BATCH) return first;
		const parts = [first];
		for (let left = n - BATCH; left > 0; left -= BATCH) {
			const part = schedulerAcquireBatch(this.#handle, task.position, Math.min(left, BATCH));
			parts.push(part);
			if (part.length < BATCH) break;
		}
		const indices = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
		for (const [i, part] of parts.entries()) indices.set(part, i * BATCH);
		return indices;
	}

	#acquireChecked(task: Scheduled, n: number): Float64Array {
		const indices: number[] = [];
		while (indices.length < n) {
			const block = this.acquire(task.geometry.taskId);
			if (block === null) break;
			indices.push(Block.flatIndexOf(block) as number);
		}
		return Float64Array.from(indices);
	}

	/** What isn't a clear yes means that the block has to run. */
	#isDone(task: Scheduled, check: CheckFunction, block: Block): boolean {
		try {
			const answer: unknown = check(block);
			if (typeof answer === 'boolean') return answer;
			// Nobody else hears of its rejection.
			if (answer instanceof Promise) answer.catch(() => {});
			const what = answer instanceof Promise ? 'a promise, which only a run awaits' : 'no boolean';
			this.#checkFailed(task, `gave ${what}`);
		} catch (error) {
			const { name, message } = describeError(error);
			this.#checkFailed(task, `threw ${name}: ${message}`);
		}
		return false;
	}

	/** Counts an error of a check function; only the first one is told. */
	#checkFailed({ state, geometry }: Scheduled, what: string): void {
		state.checkFailed();
		if (state.checkErrors > 1) return;
		const message = `checkFunction of task ${JSON.stringify(geometry.taskId)} ${what}, so blocks run`;
		process.emitWarning(plainLine(message), { code: 'BELLIS_CHECK_ERROR' });
	}

	#ofBatch(batch: BlockBatch): Scheduled {
		const task =
			batch instanceof BlockBatch
				? this.#scheduled.find(({ geometry }) => geometry === BlockBatch.geometryOf(batch))
				: undefined;
		if (task !== undefined) return task;
		throw new ValidationError('batch must be one that acquireBatch of this scheduler gave', {
			path: 'batch',
			value: batch,
		});
	}
}

function scheduledTask(task: Task, trackingPath: string | null): NativeScheduledTask {
	const { grownFrom } = task;
	return {
		spec: task.nativeSpec,
		skipMask: task.skipBytes,
		hasCheck: task.checkFunction !== undefined,
		verifyDone: task.verifyDone,
		trackingPath,
		onLayoutMismatch: task.onLayoutMismatch,
		grownFrom:
			grownFrom === undefined
				? null
				: { offset: grownFrom.offset.toArray(), shape: grownFrom.shape.toArray() },
	};
}

function requireFlags(failed: unknown, length: number): void {
	if (failed instanceof Uint8Array && failed.length === length) return;
	throw new ValidationError(
		`failed must be a Uint8Array with an entry for each of the ${length} blocks of the batch`,
		{ path: 'failed', value: failed },
	);
}
