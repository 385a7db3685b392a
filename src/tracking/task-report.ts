import type { Block } from '../block.js';
import type { Distribution, FailureReport, WorkerExitKind } from '../report/run-report.js';
import { readFailures } from './recorded-failure.js';
import { type RecordedWorker, type RunRecord, readDistribution } from './run-record.js';

/** What a store holds about one block; null where nothing was recorded. */
export interface BlockRecord {
	/** Whether the block is marked as done. */
	readonly done: boolean;
	/** Failed attempts, of all runs. */
	readonly failures: number;
	/** Seconds on a monotonic clock. */
	readonly wallSeconds: number | null;
	/** Seconds of user and system time. */
	readonly cpuSeconds: number | null;
	/** Largest memory of the worker's process while the block ran, in bytes. */
	readonly peakRssBytes: number | null;
	/** Bytes read. */
	readonly ioReadBytes: number | null;
	/** Bytes written. */
	readonly ioWriteBytes: number | null;
	/** The worker that finished it. */
	readonly workerId: number | null;
	/** When it became its worker's current block, in UNIX seconds. */
	readonly sentAt: number | null;
	/** When it came back, in UNIX seconds. */
	readonly returnedAt: number | null;
}

/** Blocks of a task in one run. */
export interface ReportedBlocks {
	/** Blocks of the task. */
	readonly total: number;
	/** Includes `skipped`. */
	readonly completed: number;
	/** Blocks that were found done or were masked. */
	readonly skipped: number;
	/** Completed and not skipped. */
	readonly executed: number;
	/** Blocks that failed and had no attempt left. */
	readonly failed: number;
	/** Blocks that never ran because of a failure before them. */
	readonly orphaned: number;
	/** Attempts that failed, retried ones included. */
	readonly failedAttempts: number;
	/** Attempts that exceeded the block timeout. */
	readonly timeouts: number;
	/** Blocks whose `checkFunction` threw or gave no boolean. */
	readonly checkErrors: number;
}

/** Measurements in the workers over the blocks that succeeded. */
export interface ReportedResources {
	/** Seconds on a monotonic clock. */
	readonly wallSeconds: Distribution;
	/** Seconds of user and system time. */
	readonly cpuSeconds: Distribution;
	/** Largest memory of the worker's process while each block ran, in bytes. */
	readonly peakRssBytes: Distribution;
	/** Bytes read. */
	readonly ioReadBytes: Distribution;
	/** Bytes written. */
	readonly ioWriteBytes: Distribution;
	/** Largest memory of any worker. */
	readonly maxPeakRssBytes: number;
	/** Why a measurement is missing; empty when none is. */
	readonly notes: readonly string[];
}

/** One worker's part of a run; durations in seconds. */
export interface ReportedWorker {
	/** Its number, unique in the run. */
	readonly workerId: number;
	/** From its start to its first request for a block, queueing included; null when it never asked for one. */
	readonly startup: number | null;
	/** Failed attempts included. */
	readonly blocks: number;
	/** Gaps before its blocks. */
	readonly idle: Distribution;
	/** Round trips of its blocks. */
	readonly compute: Distribution;
	/** From being sent home to its exit; null after an exit with an error. */
	readonly teardown: number | null;
	/** How it ended. */
	readonly exit: WorkerExitKind;
	/** The exit in words; empty for a clean one. */
	readonly exitReason: string;
}

/** All workers of a task in one run; durations in seconds. */
export interface ReportedWorkers {
	/** Workers started. */
	readonly starts: number;
	/** Starts after the first `maxWorkers`. */
	readonly restarts: number;
	/** Workers that ended with an error. */
	readonly failures: number;
	/** Over the workers that asked for a block. */
	readonly startup: Distribution;
	/** Over the blocks, failed attempts included. */
	readonly idle: Distribution;
	/** Over the blocks, failed attempts included. */
	readonly compute: Distribution;
	/** Over the workers that ended in order. */
	readonly teardown: Distribution;
	/** How many ended in which way. */
	readonly exits: Readonly<Record<WorkerExitKind, number>>;
	/** Each worker by its number. */
	readonly byId: Readonly<Record<number, ReportedWorker>>;
}

/** Reads what a store holds about one block. */
export type BlockReader = (block: Block) => Promise<BlockRecord | null>;

/**
 * What a run did for a task: blocks, times and costs as mean ± std, and each worker's part, as it was
 * written to `runs.jsonl`. Durations are seconds, sizes bytes.
 */
export class TaskReport {
	/** Id of the task. */
	readonly taskId: string;
	/** Name of the run, shared by its tasks. */
	readonly runId: string;
	/** UNIX seconds. */
	readonly startedAt: number;
	/** UNIX seconds. */
	readonly finishedAt: number;
	/** From the task's first start of a worker, or first skip, to its end. */
	readonly wallSeconds: number;
	/** The signal that ended the run; null when none did. */
	readonly interrupted: string | null;
	/** Why the task was given up, as in `TaskState`; null when it wasn't. */
	readonly abandonReason: string | null;
	/** Counts of its blocks. */
	readonly blocks: ReportedBlocks;
	/** The first blocks that failed for good; `blocks.failed` counts all. */
	readonly failures: readonly FailureReport[];
	/** The task's block timeout, in milliseconds. */
	readonly timeoutMs: number;
	/** Of the blocks that succeeded, from being sent to being returned. */
	readonly roundTrip: Distribution;
	/** Null without `resourceTracking`. */
	readonly resources: ReportedResources | null;
	/** What its workers did. */
	readonly workers: ReportedWorkers;
	/** The reports of the runs before, oldest first. */
	readonly earlier: readonly TaskReport[];
	readonly #readBlock: BlockReader;
	readonly #record: RunRecord;

	/** @internal */
	static of(record: RunRecord, earlier: readonly RunRecord[], readBlock: BlockReader): TaskReport {
		return new TaskReport(
			record,
			earlier.map((one) => new TaskReport(one, [], readBlock)),
			readBlock,
		);
	}

	private constructor(record: RunRecord, earlier: readonly TaskReport[], readBlock: BlockReader) {
		const { blocks } = record;
		this.taskId = record.task_id;
		this.runId = record.run_id;
		this.startedAt = record.started_at;
		this.finishedAt = record.finished_at;
		this.wallSeconds = record.wall_seconds;
		this.interrupted = record.interrupted;
		this.abandonReason = record.abandon_reason;
		this.blocks = {
			total: blocks.total,
			completed: blocks.completed,
			skipped: blocks.skipped,
			executed: blocks.completed - blocks.skipped,
			failed: blocks.failed,
			orphaned: blocks.orphaned,
			failedAttempts: blocks.failed_attempts,
			timeouts: blocks.timeouts,
			checkErrors: blocks.check_errors,
		};
		this.failures = readFailures(record.failures);
		this.timeoutMs = record.timeout_ms;
		this.roundTrip = readDistribution(record.round_trip);
		this.resources = readResources(record.resources);
		this.workers = readWorkers(record.workers);
		this.earlier = earlier;
		this.#readBlock = readBlock;
		this.#record = record;
		Object.freeze(this);
	}

	/** One worker's part; null when the run had none of that number. */
	worker(workerId: number): ReportedWorker | null {
		return this.workers.byId[workerId] ?? null;
	}

	/**
	 * What the tracking store holds about a block, of whichever run finished it; null without a store.
	 */
	block(block: Block): Promise<BlockRecord | null> {
		return this.#readBlock(block);
	}

	/** The report as `runs.jsonl` has it. */
	toJSON(): RunRecord {
		return this.#record;
	}
}

function readResources(resources: RunRecord['resources']): ReportedResources | null {
	return (
		resources && {
			wallSeconds: readDistribution(resources.wall_seconds),
			cpuSeconds: readDistribution(resources.cpu_seconds),
			peakRssBytes: readDistribution(resources.peak_rss_bytes),
			ioReadBytes: readDistribution(resources.io_read_bytes),
			ioWriteBytes: readDistribution(resources.io_write_bytes),
			maxPeakRssBytes: resources.max_peak_rss_bytes,
			notes: resources.notes,
		}
	);
}

function readWorkers(workers: RunRecord['workers']): ReportedWorkers {
	const byId: Record<number, ReportedWorker> = {};
	for (const [id, worker] of Object.entries(workers.by_id)) {
		byId[Number(id)] = readWorker(Number(id), worker);
	}
	return {
		starts: workers.starts,
		restarts: workers.restarts,
		failures: workers.failures,
		startup: readDistribution(workers.startup),
		idle: readDistribution(workers.idle),
		compute: readDistribution(workers.compute),
		teardown: readDistribution(workers.teardown),
		exits: workers.exits,
		byId,
	};
}

function readWorker(workerId: number, worker: RecordedWorker): ReportedWorker {
	return {
		workerId,
		startup: worker.startup,
		blocks: worker.blocks,
		idle: readDistribution(worker.idle),
		compute: readDistribution(worker.compute),
		teardown: worker.teardown,
		exit: worker.exit,
		exitReason: worker.exit_reason,
	};
}
