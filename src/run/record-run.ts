import { existsSync } from 'node:fs';
import { runsAppend } from '../native-tracking.js';
import type { RunReport } from '../report/run-report.js';
import { formatRunRecord, type RecordedRun } from '../tracking/run-record.js';

/** A task whose part of a run couldn't be recorded, and why. */
export interface UnrecordedTask {
	readonly taskId: string;
	readonly directory: string;
	readonly error: Error;
}

/**
 * Appends each task's part of a run to `runs.jsonl` in its tracking store; for a task without one in its
 * log folder, where there is one. What can't be written is no reason for a run to fail.
 *
 * @param stores directory of each tracked task's store by task id
 * @returns the tasks that couldn't be recorded
 */
export async function recordRun(
	report: RunReport,
	run: RecordedRun,
	stores: ReadonlyMap<string, string>,
): Promise<UnrecordedTask[]> {
	const unrecorded: UnrecordedTask[] = [];
	for (const task of report.tasks) {
		const directory = stores.get(task.taskId) ?? task.logDir;
		// a task whose workers never started has no log folder
		if (directory === null || !existsSync(directory)) continue;
		try {
			await runsAppend(directory, formatRunRecord(task, run));
		} catch (error) {
			unrecorded.push({ taskId: task.taskId, directory, error: error as Error });
		}
	}
	return unrecorded;
}
