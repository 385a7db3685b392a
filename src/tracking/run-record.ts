import { distributionOf, mergeDistributions } from '../report/distribution.js';
import type { Distribution, TaskRunReport, WorkerExitKind } from '../report/run-report.js';
import { isRunRecord } from './record-shape.js';
import { type RecordedFailure, recordedFailures } from './recorded-failure.js';

/**
 * A line of `runs.jsonl`: what one run did for one task. Times are UNIX seconds, durations seconds,
 * sizes bytes; what has no value is null. Fields may be added; `format` grows when one changes.
 */
export interface RunRecord {
	/** Version of the record. */
	format: 1;
	/** Name of the run, shared by its tasks. */
	run_id: string;
	/** Id of the task. */
	task_id: string;
	/** When the run started, in UNIX seconds. */
	started_at: number;
	/** When the run ended, in UNIX seconds. */
	finished_at: number;
	/** From the task's first start of a worker, or first skip, to its end. */
	wall_seconds: number;
	/** The signal that ended the run. */
	interrupted: string | null;
	/** Why the task was given up; null when it wasn't. */
	abandon_reason: string | null;
	/** Counts of the task's blocks. */
	blocks: {
		total: number;
		/** Includes `skipped`. */
		completed: number;
		skipped: number;
		failed: number;
		orphaned: number;
		failed_attempts: number;
		timeouts: number;
		check_errors: number;
	};
	/** The first blocks that failed for good. */
	failures: RecordedFailure[];
	/** The task's block timeout, in milliseconds. */
	timeout_ms: number;
	/** Of blocks that succeeded, from being sent to being returned. */
	round_trip: RecordedDistribution;
	/** Measured in the workers, of blocks that succeeded; null without `resourceTracking`. */
	resources: {
		wall_seconds: RecordedDistribution;
		cpu_seconds: RecordedDistribution;
		peak_rss_bytes: RecordedDistribution;
		io_read_bytes: RecordedDistribution;
		io_write_bytes: RecordedDistribution;
		max_peak_rss_bytes: number;
		notes: string[];
	} | null;
	/** The timeline of the task's workers. */
	workers: {
		starts: number;
		restarts: number;
		failures: number;
		/** One sample for each worker that asked for a block. */
		startup: RecordedDistribution;
		/** One sample for each block, failed attempts included. */
		idle: RecordedDistribution;
		compute: RecordedDistribution;
		/** One sample for each worker that ended in order. */
		teardown: RecordedDistribution;
		exits: Record<WorkerExitKind, number>;
		by_id: Record<string, RecordedWorker>;
	};
}

/** One worker in a line of `runs.jsonl`. */
export interface RecordedWorker {
	/** From its start to its first request for a block, queueing included. */
	startup: number | null;
	/** Failed attempts included. */
	blocks: number;
	/** Gaps before its blocks. */
	idle: RecordedDistribution;
	/** Round trips of its blocks. */
	compute: RecordedDistribution;
	/** From being sent home to its exit. */
	teardown: number | null;
	/** How it ended. */
	exit: WorkerExitKind;
	/** The exit in words; empty for a clean one. */
	exit_reason: string;
}

/** A distribution in a line of `runs.jsonl`; JSON has no NaN, so what is unknown is null. */
export interface RecordedDistribution {
	/** Number of samples. */
	count: number;
	/** Null without samples, and where a sample couldn't be measured. */
	mean: number | null;
	/** Of samples, n - 1; null below two. */
	std: number | null;
	/** Null where a sample couldn't be measured. */
	sum: number | null;
}

/** What a line needs to know of the run besides the task's report. */
export interface RecordedRun {
	readonly runId: string;
	/** UNIX seconds. */
	readonly startedAt: number;
	readonly finishedAt: number;
	readonly interrupted: string | null;
}

/** A task's part of a run as a line of `runs.jsonl`, without the line break. */
export function formatRunRecord(report: TaskRunReport, run: RecordedRun): string {
	const { resources, workers } = report;
	const present = (values: readonly (number | null)[]) =>
		recorded(distributionOf(values.filter((value) => value !== null)));
	const record: RunRecord = {
		format: 1,
		run_id: run.runId,
		task_id: report.taskId,
		started_at: run.startedAt,
		finished_at: run.finishedAt,
		wall_seconds: report.wallSeconds,
		interrupted: run.interrupted,
		abandon_reason: report.abandonReason,
		blocks: {
			total: report.total,
			completed: report.completed,
			skipped: report.skipped,
			failed: report.failed,
			orphaned: report.orphaned,
			failed_attempts: report.failedAttempts,
			timeouts: report.timeouts,
			check_errors: report.checkErrors,
		},
		failures: recordedFailures(report.failures),
		timeout_ms: report.timeoutMs,
		round_trip: recorded(report.roundTrip),
		resources: resources && {
			wall_seconds: recorded(resources.wall),
			cpu_seconds: recorded(resources.cpu),
			peak_rss_bytes: recorded(resources.peakRssBytes),
			io_read_bytes: recorded(resources.ioReadBytes),
			io_write_bytes: recorded(resources.ioWriteBytes),
			max_peak_rss_bytes: resources.maxPeakRssBytes,
			notes: [...resources.notes],
		},
		workers: {
			starts: report.workerStarts,
			restarts: report.workerRestarts,
			failures: report.workerFailures,
			startup: present(workers.map((worker) => worker.startupSeconds)),
			idle: recorded(mergeDistributions(workers.map((worker) => worker.idle))),
			compute: recorded(mergeDistributions(workers.map((worker) => worker.compute))),
			teardown: present(workers.map((worker) => worker.teardownSeconds)),
			exits: {
				clean: workers.filter((worker) => worker.exit === 'clean').length,
				error: workers.filter((worker) => worker.exit === 'error').length,
				running: workers.filter((worker) => worker.exit === 'running').length,
			},
			by_id: Object.fromEntries(
				workers.map((worker) => [
					worker.workerId,
					{
						startup: worker.startupSeconds,
						blocks: worker.blocks,
						idle: recorded(worker.idle),
						compute: recorded(worker.compute),
						teardown: worker.teardownSeconds,
						exit: worker.exit,
						exit_reason: worker.exitReason,
					},
				]),
			),
		},
	};
	return JSON.stringify(record);
}

/** The records among the lines of a `runs.jsonl`; what isn't one, such as a torn line, is left out. */
export function parseRunRecords(lines: readonly string[]): RunRecord[] {
	return lines.flatMap((line) => {
		try {
			const record: unknown = JSON.parse(line);
			return isRunRecord(record) ? [record as RunRecord] : [];
		} catch {
			return [];
		}
	});
}

/** A distribution as it was before it was written. */
export function readDistribution(recorded: RecordedDistribution): Distribution {
	const { count, mean, std, sum } = recorded;
	return { count, mean: mean ?? Number.NaN, std: std ?? Number.NaN, sum: sum ?? Number.NaN };
}

function recorded({ count, mean, std, sum }: Distribution): RecordedDistribution {
	return {
		count,
		mean: Number.isNaN(mean) ? null : mean,
		std: Number.isNaN(std) ? null : std,
		sum: Number.isNaN(sum) ? null : sum,
	};
}
