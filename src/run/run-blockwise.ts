import type { TaskState } from '../task-state.js';
import { executeRun, type RunInput } from './execute.js';
import type { RunOptions } from './options.js';

/** The options of {@link runBlockwise}. */
export type RunBlockwiseOptions = RunOptions;

/**
 * Runs every block of a task, of a pipeline, or of several of them side by side: on worker processes,
 * each block once, no two conflicting ones together. Prints a summary.
 *
 * @param input an empty array or pipeline gives `true`
 * @returns `true` only if every block of every task completed
 * @throws AbandonedError when a task was given up, after the summary
 * @throws InterruptedError after SIGINT, SIGTERM or SIGHUP, after the summary
 * @throws ModuleError when the module of a task can't be used
 * @throws ValidationError, PipelineError, UncoveredError, FunctionError for what can't be run
 * @throws LayoutMismatchError, StoreLockedError, StoreError about tracking stores
 */
export function runBlockwise(
	input: RunInput,
	options?: RunBlockwiseOptions & { returnStates?: false | undefined },
): Promise<boolean>;
/**
 * Runs every block of a task, of a pipeline, or of several of them side by side: on worker processes,
 * each block once, no two conflicting ones together. Prints a summary.
 *
 * @param input an empty array or pipeline gives no states
 * @returns the states of the tasks by id
 * @throws AbandonedError when a task was given up, after the summary
 * @throws InterruptedError after SIGINT, SIGTERM or SIGHUP, after the summary
 * @throws ModuleError when the module of a task can't be used
 * @throws ValidationError, PipelineError, UncoveredError, FunctionError for what can't be run
 * @throws LayoutMismatchError, StoreLockedError, StoreError about tracking stores
 */
export function runBlockwise(
	input: RunInput,
	options: RunBlockwiseOptions & { returnStates: true },
): Promise<Record<string, TaskState>>;
/**
 * Runs every block of a task, of a pipeline, or of several of them side by side: on worker processes,
 * each block once, no two conflicting ones together. Prints a summary.
 *
 * @param input an empty array or pipeline gives `true`, or no states
 * @returns `true` only if every block of every task completed; with `returnStates` the tasks' states by id
 * @throws AbandonedError when a task was given up, after the summary
 * @throws InterruptedError after SIGINT, SIGTERM or SIGHUP, after the summary
 * @throws ModuleError when the module of a task can't be used
 * @throws ValidationError, PipelineError, UncoveredError, FunctionError for what can't be run
 * @throws LayoutMismatchError, StoreLockedError, StoreError about tracking stores
 */
export function runBlockwise(
	input: RunInput,
	options?: RunBlockwiseOptions,
): Promise<boolean | Record<string, TaskState>>;
export async function runBlockwise(
	input: RunInput,
	options: RunBlockwiseOptions = {},
): Promise<boolean | Record<string, TaskState>> {
	const { states, completed, abandoned } = await executeRun(input, options);
	if (abandoned) throw abandoned;
	return options.returnStates === true ? states : completed;
}
