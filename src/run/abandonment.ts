import { AbandonedError } from '../errors.js';
import { plainText } from '../report/plain-text.js';
import { DEFAULT_TIMEOUT_MS } from '../task/default-timeout.js';
import type { Task } from '../task/task.js';
import type { TaskState } from '../task-state.js';

/** Why a task is given up that reads from one that was. */
const UPSTREAM_ABANDONED = 'upstream task abandoned';

/**
 * The error for the first of the tasks that was given up on its own account; null when none was.
 *
 * @param hints what else is to be said of a task
 */
export function abandonmentOf(
	display: readonly Task[],
	states: Readonly<Record<string, TaskState>>,
	hints: ReadonlyMap<Task, string> = new Map(),
): AbandonedError | null {
	const abandoned = display.filter((task) => states[task.taskId]!.abandoned);
	const task = abandoned.find((one) => states[one.taskId]!.abandonReason !== UPSTREAM_ABANDONED);
	if (task === undefined) return null;
	const state = states[task.taskId]!;
	const others = abandoned.filter((one) => one !== task).map((one) => one.taskId);
	return new AbandonedError(message(task, state, others, hints.get(task)), {
		taskId: task.taskId,
		reason: state.abandonReason ?? 'worker restart cap exhausted',
		workerFailures: state.workerFailures,
		workerRestarts: state.workerRestarts,
		orphaned: state.orphaned,
		total: state.total,
		timeouts: state.timeouts,
		firstError: state.firstError,
		lastError: state.lastError,
	});
}

function message(
	task: Task,
	state: TaskState,
	others: readonly string[],
	hint: string | undefined,
): string {
	const parts = [
		`task ${JSON.stringify(task.taskId)} was abandoned: all ${state.workerStarts} starts of workers are used up. `,
		`Workers failed ${times(state.workerFailures)}, ${count(state.workerRestarts, 'restart')} performed; `,
		`${state.orphaned} of ${count(state.total, 'block')} orphaned.`,
	];
	if (others.length > 0) {
		parts.push(` Abandoned with it: ${others.map((id) => JSON.stringify(id)).join(', ')}.`);
	}
	if (state.timeouts > 0) {
		const origin = task.timeoutMs === DEFAULT_TIMEOUT_MS ? ', the default' : '';
		parts.push(
			` ${count(state.timeouts, 'attempt')} exceeded timeoutMs (${task.timeoutMs}${origin}).`,
		);
	}
	const { firstError, lastError } = state;
	if (firstError === null) parts.push(' No error of a worker was seen. ');
	else parts.push(` The first error:\n${indented(plainText(firstError))}\n`);
	if (lastError !== null && lastError !== firstError) {
		parts.push(`The last error:\n${indented(plainText(lastError))}\n`);
	}
	if (hint !== undefined) parts.push(`${hint} `);
	parts.push(
		task.onBlockError === 'keep-worker'
			? 'Fix what the workers die of, or raise maxWorkerRestarts.'
			: "Fix what the workers die of, raise maxWorkerRestarts, or keep workers whose blocks fail with onBlockError: 'keep-worker'.",
	);
	return parts.join('');
}

function times(n: number): string {
	return n === 1 ? 'once' : `${n} times`;
}

function count(n: number, noun: string): string {
	return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

function indented(text: string): string {
	return text
		.trimEnd()
		.split('\n')
		.map((line) => `    ${line}`)
		.join('\n');
}
