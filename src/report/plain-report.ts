import { plainLine, plainName, plainText } from './plain-text.js';
import type { FailureReport, RunReport, TaskRunReport } from './run-report.js';

/** Longest reason of a worker's exit, in characters. */
const longestReason = 500;

/** A report whose texts can all be shown as they are. */
export function plainReport(report: RunReport): RunReport {
	return {
		...report,
		interrupted: report.interrupted && plainName(report.interrupted),
		logDir: report.logDir && plainName(report.logDir),
		tasks: report.tasks.map(plainTask),
	};
}

function plainTask(task: TaskRunReport): TaskRunReport {
	return {
		...task,
		taskId: plainName(task.taskId),
		abandonReason: task.abandonReason && plainName(task.abandonReason),
		logDir: task.logDir && plainName(task.logDir),
		failures: task.failures.map(plainFailure),
		workers: task.workers.map((worker) => ({
			...worker,
			exitReason: plainLine(worker.exitReason, longestReason),
		})),
		resources: task.resources && {
			...task.resources,
			notes: task.resources.notes.map(plainName),
		},
	};
}

function plainFailure(failure: FailureReport): FailureReport {
	const { block, name, message, stack } = failure;
	return {
		...failure,
		block: block && { ...block, id: plainName(block.id) },
		name: plainName(name),
		message: plainText(message),
		stack: plainText(stack),
	};
}
