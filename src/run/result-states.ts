import { Block } from '../block.js';
import type { NativeBlockFailure, NativeRunResult, NativeTaskState } from '../native.js';
import { parsedDetails } from '../report/error-text.js';
import type { Task } from '../task/task.js';
import type { BlockFailure, TaskState } from '../task-state.js';

/** A task's state as users see it. */
export function taskStateOf(
	task: Task,
	native: NativeTaskState,
	failures: readonly NativeBlockFailure[] = [],
): TaskState {
	return {
		total: native.total,
		ready: native.ready,
		pending: native.pending,
		processing: native.processing,
		completed: native.completed,
		skipped: native.skipped,
		failed: native.failed,
		orphaned: native.orphaned,
		started: native.started,
		done: native.done,
		abandoned: native.abandoned,
		abandonReason: native.abandonReason,
		workerStarts: native.workerStarts,
		workerRestarts: native.workerRestarts,
		workerFailures: native.workerFailures,
		failedAttempts: native.failedAttempts,
		checkErrors: native.checkErrors,
		timeouts: native.timeouts,
		timeoutMs: task.timeoutMs,
		firstError: native.firstError,
		lastError: native.lastError,
		failures: failures.map((failure) => blockFailureOf(task, failure)),
	};
}

/** The states of a run's tasks by id, in the order of `display`. */
export function statesOf(
	tasks: readonly Task[],
	display: readonly Task[],
	result: Pick<NativeRunResult, 'states' | 'failures'>,
): Record<string, TaskState> {
	// a task id may be `__proto__`
	return Object.fromEntries(
		display.map((task) => {
			const at = tasks.indexOf(task);
			return [task.taskId, taskStateOf(task, result.states[at]!, result.failures[at])];
		}),
	);
}

function blockFailureOf(task: Task, failure: NativeBlockFailure): BlockFailure {
	const { name, message, stack, details } = failure.error;
	return {
		taskId: task.taskId,
		block: failure.block === null ? null : failedBlock(task, failure.block),
		workerId: failure.worker,
		attempt: failure.attempt,
		name,
		message,
		stack,
		cause: parsedDetails(details).cause ?? null,
	};
}

function failedBlock(task: Task, index: number): Block {
	const block = Block.at(task.geometry, index);
	block.status = 'failed';
	return block;
}
