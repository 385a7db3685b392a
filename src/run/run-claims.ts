import { PipelineError } from '../errors.js';
import type { Task } from '../task/task.js';

const running = new Set<Task>();

/**
 * Takes tasks for a run. One task object can't be in two live runs: its store and its counters are one.
 *
 * @returns gives them back
 * @throws PipelineError when one of them is taken
 */
export function claimTasks(tasks: readonly Task[]): () => void {
	for (const { taskId } of tasks.filter((task) => running.has(task))) {
		throw new PipelineError(
			`task ${JSON.stringify(taskId)} is part of a run that hasn't ended: wait for that run, or make another Task`,
			{ taskIds: [taskId] },
		);
	}
	for (const task of tasks) running.add(task);
	return () => {
		for (const task of tasks) running.delete(task);
	};
}

const logFolders = new Set<string>();

/**
 * Takes a folder for a task's worker logs: `taskId`, or `taskId@runId` while another live run writes there.
 *
 * @param logDir parent of the folder
 * @returns the folder's name, and what gives it back
 */
export function claimLogFolder(
	logDir: string,
	taskId: string,
	runId: string,
): { name: string; release: () => void } {
	const taken = logFolders.has(`${logDir}\0${taskId}`);
	const name = taken ? `${taskId}@${runId}` : taskId;
	const key = `${logDir}\0${name}`;
	logFolders.add(key);
	return { name, release: () => logFolders.delete(key) };
}
