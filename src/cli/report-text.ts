import { plainName } from '../report/plain-text.js';
import { counted } from '../report/quantity.js';
import type { TaskRunReport } from '../report/run-report.js';
import { renderSummary } from '../report/summary.js';
import { DEFAULT_TIMEOUT_MS } from '../task/default-timeout.js';
import type { ReportedWorker, TaskReport } from '../tracking/task-report.js';
import { timeText } from './status.js';

/**
 * A recorded run as its summary and panel were, behind a line that says which run it is.
 *
 * @param columns of the terminal
 * @param paint colours the symbol of the task's state
 */
export function reportText(
	report: TaskReport,
	columns: number,
	paint?: (symbol: string) => string,
): string {
	const earlier =
		report.earlier.length > 0 ? `, ${counted(report.earlier.length, 'earlier run')}` : '';
	const head = `Run ${plainName(report.runId)} of ${timeText(report.startedAt)}${earlier}`;
	const summary = renderSummary(
		{
			tasks: [taskOf(report)],
			interrupted: report.interrupted,
			logDir: null,
			wallSeconds: report.wallSeconds,
			driver: null,
		},
		{ columns, ...(paint && { paint }) },
	);
	return `${head}\n\n${summary}`;
}

function taskOf(report: TaskReport): TaskRunReport {
	const { blocks, workers, resources } = report;
	return {
		taskId: report.taskId,
		total: blocks.total,
		ready: 0,
		pending: 0,
		processing: 0,
		completed: blocks.completed,
		skipped: blocks.skipped,
		failed: blocks.failed,
		orphaned: blocks.orphaned,
		abandonReason: report.abandonReason,
		workerStarts: workers.starts,
		workerRestarts: workers.restarts,
		workerFailures: workers.failures,
		failedAttempts: blocks.failedAttempts,
		timeouts: blocks.timeouts,
		timeoutMs: report.timeoutMs,
		timeoutIsDefault: report.timeoutMs === DEFAULT_TIMEOUT_MS,
		checkErrors: blocks.checkErrors,
		failures: report.failures,
		wallSeconds: report.wallSeconds,
		roundTrip: report.roundTrip,
		workers: Object.values(workers.byId).map(workerOf),
		resources: resources && {
			wall: resources.wallSeconds,
			cpu: resources.cpuSeconds,
			peakRssBytes: resources.peakRssBytes,
			ioReadBytes: resources.ioReadBytes,
			ioWriteBytes: resources.ioWriteBytes,
			maxPeakRssBytes: resources.maxPeakRssBytes,
			notes: resources.notes,
		},
		logDir: null,
	};
}

function workerOf(worker: ReportedWorker) {
	const { workerId, blocks, idle, compute, exit, exitReason } = worker;
	return {
		workerId,
		startupSeconds: worker.startup,
		blocks,
		idle,
		compute,
		teardownSeconds: worker.teardown,
		exit,
		exitReason,
	};
}
