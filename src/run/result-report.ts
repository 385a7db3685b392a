import { join } from 'node:path';
import { Block } from '../block.js';
import type {
	NativeBlockFailure,
	NativeResourceReport,
	NativeRunResult,
	NativeStat,
	NativeWorkerReport,
} from '../native.js';
import { errorText } from '../report/error-text.js';
import type {
	Distribution,
	FailureReport,
	ReportedBlock,
	ResourceReport,
	RunReport,
	TaskRunReport,
	WorkerExitKind,
	WorkerReport,
} from '../report/run-report.js';
import { DEFAULT_TIMEOUT_MS } from '../task/default-timeout.js';
import type { Task } from '../task/task.js';
import { measurementNotes } from './measurement-notes.js';

/** What a report needs to know besides the native result. */
export interface RunFacts {
	/** In pipeline order, as the native side knows them. */
	readonly tasks: readonly Task[];
	/** In display order. */
	readonly display: readonly Task[];
	/** Parent of the tasks' log folders; null when no files were written. */
	readonly logDir: string | null;
	/** Folder name of each task's logs, in pipeline order. */
	readonly logFolders: readonly string[];
	/** The signal that interrupted the run. */
	readonly interrupted: string | null;
	readonly wallSeconds: number;
	readonly cpuSeconds: number;
}

/** A run's result as plain data for the summary. */
export function runReportOf(result: NativeRunResult, facts: RunFacts): RunReport {
	return {
		tasks: facts.display.map((task) => taskReportOf(task, result, facts)),
		interrupted: facts.interrupted,
		logDir: facts.logDir,
		wallSeconds: facts.wallSeconds,
		driver: {
			cpuSeconds: facts.cpuSeconds,
			peakRssBytes: process.resourceUsage().maxRSS * 1024,
		},
	};
}

function taskReportOf(task: Task, result: NativeRunResult, facts: RunFacts): TaskRunReport {
	const at = facts.tasks.indexOf(task);
	const state = result.states[at]!;
	const report = result.reports[at]!;
	const end = report.finishedAt ?? result.finishedAt;
	return {
		taskId: task.taskId,
		total: state.total,
		ready: state.ready,
		pending: state.pending,
		processing: state.processing,
		completed: state.completed,
		skipped: state.skipped,
		failed: state.failed,
		orphaned: state.orphaned,
		abandonReason: state.abandonReason,
		workerStarts: state.workerStarts,
		workerRestarts: state.workerRestarts,
		workerFailures: state.workerFailures,
		failedAttempts: state.failedAttempts,
		timeouts: state.timeouts,
		timeoutMs: task.timeoutMs,
		timeoutIsDefault: task.timeoutMs === DEFAULT_TIMEOUT_MS,
		checkErrors: state.checkErrors,
		failures: (result.failures[at] ?? []).map((failure) => failureReportOf(task, failure)),
		wallSeconds: report.startedAt === null ? 0 : Math.max(0, end - report.startedAt),
		roundTrip: distributionOf(report.roundTrip),
		workers: report.workers.map(workerReportOf),
		resources: report.resources && resourceReportOf(task, report.resources),
		logDir: facts.logDir === null ? null : join(facts.logDir, facts.logFolders[at]!),
	};
}

function failureReportOf(
	task: Task,
	{ block, worker, attempt, error }: NativeBlockFailure,
): FailureReport {
	return {
		block: block === null ? null : reportedBlock(Block.at(task.geometry, block)),
		workerId: worker,
		attempt,
		name: error.name,
		message: error.message,
		stack: error.stack === null ? '' : errorText(error),
	};
}

function reportedBlock({ id, index, writeRoi }: Block): ReportedBlock {
	return {
		id,
		index,
		writes: { begin: writeRoi.begin.toArray(), end: writeRoi.end.toArray() },
	};
}

function workerReportOf(worker: NativeWorkerReport): WorkerReport {
	return {
		workerId: worker.worker,
		startupSeconds: worker.startup,
		blocks: worker.blocks,
		idle: distributionOf(worker.idle),
		compute: distributionOf(worker.compute),
		teardownSeconds: worker.teardown,
		exit: EXIT_KINDS[worker.exit],
		exitReason: worker.exitReason,
	};
}

/** A worker that the run stopped has done nothing wrong. */
const EXIT_KINDS: Record<NativeWorkerReport['exit'], WorkerExitKind> = {
	running: 'running',
	clean: 'clean',
	stopped: 'clean',
	error: 'error',
	lost: 'error',
};

function resourceReportOf(task: Task, resources: NativeResourceReport): ResourceReport {
	return {
		wall: distributionOf(resources.wall),
		cpu: distributionOf(resources.cpu),
		peakRssBytes: distributionOf(resources.peakRss),
		ioReadBytes: distributionOf(resources.ioRead),
		ioWriteBytes: distributionOf(resources.ioWrite),
		maxPeakRssBytes: resources.maxPeakRss,
		notes: measurementNotes(task.concurrency, resources),
	};
}

function distributionOf({ count, mean, std, total }: NativeStat): Distribution {
	return { count, mean: count > 0 ? mean : Number.NaN, std, sum: total };
}
