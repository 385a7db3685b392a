import { Block } from '../block.js';
import type { BlockGeometry } from '../block-geometry.js';
import { ValidationError } from '../errors.js';
import type { Fit } from '../fit.js';
import {
	type FunctionOption,
	type FunctionReference,
	readFunction,
} from '../functions/reference.js';
import type { Roi } from '../geometry/roi.js';
import type { Launcher } from '../launchers/launcher.js';
import type { NativeTaskSpec } from '../native.js';
import { describeTask } from '../native-scheduler.js';
import { chain, type Pipeline, type PipelinePart, parallel, TASK_BRAND } from '../pipeline.js';
import type { TaskReport } from '../tracking/task-report.js';
import type { FailedBlock, StoreStatus } from '../tracking/tracking-store.js';
import { checkedGeometry, requireDims } from './layout.js';
import {
	type CheckFunction,
	type OnBlockError,
	type OnLayoutMismatch,
	type ProcessFunction,
	readTaskOptions,
	type TaskOptions,
	taskOptionNames,
	type WorkerFunction,
} from './options.js';
import { readSkipMask, type SkipMask } from './skip-mask.js';
import {
	failedBlocksOf,
	type ReportPlace,
	reportOf,
	resetTask,
	type TaskResetOptions,
	type TrackingPlace,
	taskStatus,
} from './task-store.js';

export type { TaskOptions } from './options.js';

/**
 * A volume cut into blocks, and what to do with each. A task is checked when it is made and never
 * changes; it can be part of any number of pipelines and runs.
 */
export class Task {
	/** Name of the task, unique in its pipeline. */
	readonly taskId: string;
	/** All that the task may read. */
	readonly totalRoi: Roi;
	/** What a block reads; its size and its place relative to `writeRoi` matter. */
	readonly readRoi: Roi;
	/** What a block writes; its size is the distance between blocks. */
	readonly writeRoi: Roi;
	/** What runs a block; undefined for none. */
	readonly processFunction: FunctionOption<ProcessFunction> | undefined;
	/** What runs as a worker in place of `processFunction`; undefined for none. */
	readonly workerFunction: FunctionOption<WorkerFunction> | undefined;
	/** Asked in the driver whether a block is done already; undefined for none. */
	readonly checkFunction: CheckFunction | undefined;
	/** Whether blocks that read what another one writes never run together. Default true. */
	readonly readWriteConflict: boolean;
	/** What happens at the upper border where blocks don't fit evenly. Default `'valid'`. */
	readonly fit: Fit;
	/** A number, also where `'auto'` was given. */
	readonly maxWorkers: number;
	/** Attempts of a block after the first. Default 2. */
	readonly maxRetries: number;
	/** Starts of workers over a run beyond the first `maxWorkers`. Default 10. */
	readonly maxWorkerRestarts: number;
	/** Milliseconds that a block may run. Default 600,000. */
	readonly timeoutMs: number;
	/** Directory that remembers what is done; false for none, undefined for one below the run's tracking directory. */
	readonly trackingPath: string | false | undefined;
	/** Whether each block is measured and its figures stored. Default false. */
	readonly resourceTracking: boolean;
	/** What one worker uses up of the run's `resources`. Default nothing. */
	readonly requires: Readonly<Record<string, number>>;
	/** Blocks not to run, as given; undefined for none. */
	readonly skipMask: SkipMask | undefined;
	/** Whether `checkFunction` is asked also about blocks that the store calls done. Default false. */
	readonly verifyDone: boolean;
	/** Whether blocks may read nothing that an upstream task writes. Default false. */
	readonly allowUncovered: boolean;
	/** What starts the workers; undefined for processes on this machine. */
	readonly launcher: Launcher | undefined;
	/** What workers get as `context.config`. */
	readonly config: unknown;
	/** Node's flags for the workers; undefined for those of this process. */
	readonly execArgv: readonly string[] | undefined;
	/** Environment variables for the workers, besides those of this process. */
	readonly env: Readonly<Record<string, string>>;
	/** Blocks of an async function that run at once in one worker. Default 1. */
	readonly concurrency: number;
	/** Of several tasks with ready blocks the one with the highest gets workers first. Default 0. */
	readonly priority: number;
	/** Milliseconds before a failed block is tried again, doubled for each further try. Default 0. */
	readonly retryDelayMs: number;
	/** Whether a worker whose block threw is replaced or goes on; the default depends on the kind of function. */
	readonly onBlockError: OnBlockError;
	/** Whether a store of another layout is an error or replaced. Default `'error'`. */
	readonly onLayoutMismatch: OnLayoutMismatch;
	/** The earlier `totalRoi` of a store that daisy wrote; undefined for none. */
	readonly grownFrom: Roi | undefined;
	/** Milliseconds that a worker without a process to watch may take to connect. Default 600,000. */
	readonly connectTimeoutMs: number;
	readonly #geometry: BlockGeometry;
	readonly #functionReference: FunctionReference | null;
	readonly #skipBytes: Uint8Array | null;
	#layoutHash: string | undefined;

	/** @throws ValidationError that names the option by its path */
	constructor(options: TaskOptions) {
		const resolved = readTaskOptions(options);
		this.taskId = resolved.taskId;
		this.totalRoi = resolved.totalRoi;
		this.readRoi = resolved.readRoi;
		this.writeRoi = resolved.writeRoi;
		this.fit = resolved.fit;
		this.#geometry = checkedGeometry(this);
		this.processFunction = resolved.processFunction;
		this.workerFunction = resolved.workerFunction;
		this.#functionReference = knownFunctions.get(options) ?? onlyFunction(options);
		this.checkFunction = resolved.checkFunction;
		this.readWriteConflict = resolved.readWriteConflict;
		this.maxWorkers = resolved.maxWorkers;
		this.maxRetries = resolved.maxRetries;
		this.maxWorkerRestarts = resolved.maxWorkerRestarts;
		this.timeoutMs = resolved.timeoutMs;
		this.trackingPath = resolved.trackingPath;
		this.resourceTracking = resolved.resourceTracking;
		this.requires = resolved.requires;
		this.skipMask = resolved.skipMask;
		this.#skipBytes =
			resolved.skipMask === undefined
				? null
				: readSkipMask(resolved.skipMask, this.blockGridShape, 'skipMask');
		this.verifyDone = resolved.verifyDone;
		this.allowUncovered = resolved.allowUncovered;
		this.launcher = resolved.launcher;
		this.config = resolved.config;
		this.execArgv = resolved.execArgv;
		this.env = resolved.env;
		this.concurrency = resolved.concurrency;
		this.priority = resolved.priority;
		this.retryDelayMs = resolved.retryDelayMs;
		this.onBlockError =
			resolved.onBlockError ??
			(resolved.workerFunction === undefined ? 'restart-worker' : 'keep-worker');
		this.onLayoutMismatch = resolved.onLayoutMismatch;
		this.grownFrom = resolved.grownFrom;
		this.connectTimeoutMs = resolved.connectTimeoutMs;
		if (this.grownFrom !== undefined) requireDims(this.grownFrom, this.totalRoi, 'grownFrom');
		if (this.verifyDone && this.checkFunction === undefined) {
			throw new ValidationError('verifyDone needs a checkFunction, which is asked', {
				path: 'verifyDone',
				value: true,
			});
		}
		Object.freeze(this);
	}

	/**
	 * @internal A task like the one given but for some options. Its function keeps its place: what is relative in it
	 * starts from where the user made the task.
	 */
	static changed(task: Task, changes: Omit<Partial<TaskOptions>, FunctionName>): Task {
		const given = Object.fromEntries(taskOptionNames.map((name) => [name, task[name]]));
		const options = { ...given, ...changes } as TaskOptions;
		if (task.#functionReference) knownFunctions.set(options, task.#functionReference);
		return new Task(options);
	}

	/** @internal */
	get [TASK_BRAND](): true {
		return true;
	}

	/** @internal Places the task's blocks. */
	get geometry(): BlockGeometry {
		return this.#geometry;
	}

	/** @internal The function of either kind; null for a task that can't be run. */
	get functionReference(): FunctionReference | null {
		return this.#functionReference;
	}

	/** @internal One byte for each block, not 0 for one to skip; a byte array is the user's own. */
	get skipBytes(): Uint8Array | null {
		return this.#skipBytes;
	}

	/** Blocks on each axis; the shape of a `skipMask`. */
	get blockGridShape(): readonly number[] {
		return this.#geometry.blockGridShape;
	}

	/** Cells on each axis of the task's tracking store. */
	get trackingGridShape(): readonly number[] {
		return this.#geometry.trackingGridShape;
	}

	/** What all blocks together may write: the total without the context at its borders. */
	get totalWriteRoi(): Roi {
		return this.#geometry.totalWriteRoi;
	}

	/** What a tracking store knows the task's layout by: a SHA-256 in hexadecimal. */
	get layoutHash(): string {
		this.#layoutHash ??= describeTask(this.nativeSpec).layoutHash;
		return this.#layoutHash;
	}

	/** Where a block of this task stands in the arrays of the tracking store. */
	cellOf(block: Block): readonly number[] {
		return this.#geometry.cellOf(this.#own(block).index);
	}

	/** Where a block of this task stands in a `skipMask`. */
	maskCellOf(block: Block): readonly number[] {
		return this.#own(block).index;
	}

	/** This task, and then each of the others: every block waits for the blocks whose output it reads. */
	chain(...others: PipelinePart[]): Pipeline {
		return chain(this, ...others);
	}

	/** This task and the others side by side, without waiting for each other. */
	parallel(...others: PipelinePart[]): Pipeline {
		return parallel(this, ...others);
	}

	/**
	 * Forgets what is done: removes the task's tracking store, or with `failed: true` only the count of
	 * failed attempts of blocks that aren't done.
	 *
	 * @returns the store's path; null when there was none
	 * @throws NoTrackingPathError when the task has no place for a store
	 * @throws StoreLockedError while a run holds it
	 */
	async reset(options: TaskResetOptions = {}): Promise<string | null> {
		return resetTask(this, options);
	}

	/**
	 * How far the task has come in all runs together, from its tracking store.
	 *
	 * @throws NoTrackingPathError when the task has no place for a store
	 * @throws LayoutMismatchError when the store was written for another layout
	 */
	async status(options: TrackingPlace = {}): Promise<StoreStatus> {
		return taskStatus(this, options);
	}

	/**
	 * The blocks that failed in some run and are not done, in row-major order; none without a store.
	 *
	 * @throws NoTrackingPathError when the task has no place for a store
	 */
	async failedBlocks(options: TrackingPlace = {}): Promise<FailedBlock[]> {
		return failedBlocksOf(this, options);
	}

	/**
	 * What the last run did, from `runs.jsonl` in the tracking store, else beside the logs.
	 *
	 * @throws StoreError when no run was recorded
	 */
	async report(options: ReportPlace = {}): Promise<TaskReport> {
		return reportOf(this, options);
	}

	/** @internal The task as the native side knows it. */
	get nativeSpec(): NativeTaskSpec {
		return {
			taskId: this.taskId,
			totalOffset: this.totalRoi.offset.toArray(),
			totalShape: this.totalRoi.shape.toArray(),
			readOffset: this.readRoi.offset.toArray(),
			readShape: this.readRoi.shape.toArray(),
			writeOffset: this.writeRoi.offset.toArray(),
			writeShape: this.writeRoi.shape.toArray(),
			fit: this.fit,
			readWriteConflict: this.readWriteConflict,
			maxRetries: this.maxRetries,
			allowUncovered: this.allowUncovered,
		};
	}

	#own(block: Block): Block {
		if (block instanceof Block && block.taskId === this.taskId) return block;
		throw new ValidationError(`block must be one of task ${JSON.stringify(this.taskId)}`, {
			path: 'block',
			value: block,
		});
	}
}

type FunctionName = 'processFunction' | 'workerFunction';

/** Functions of tasks that are made from others, by their options. */
const knownFunctions = new WeakMap<TaskOptions, FunctionReference>();

/** The function of a task, of which there may be one kind only. */
function onlyFunction(options: TaskOptions): FunctionReference | null {
	const { processFunction, workerFunction } = options;
	if (processFunction !== undefined && workerFunction !== undefined) {
		throw new ValidationError(
			'workerFunction and processFunction exclude each other: a worker function asks a Client for its blocks, a process function is given them',
			{ path: 'workerFunction', value: workerFunction },
		);
	}
	if (processFunction !== undefined) {
		return readFunction(processFunction, 'block', 'processFunction', Task);
	}
	return workerFunction === undefined
		? null
		: readFunction(workerFunction, 'worker', 'workerFunction', Task);
}
