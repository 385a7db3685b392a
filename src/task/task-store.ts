import { join, resolve } from 'node:path';
import { NoTrackingPathError } from '../errors.js';
import { boolean, filePath } from '../option-checks.js';
import { type Check, option, optional, readOptions } from '../option-table.js';
import { currentSettings } from '../settings.js';
import { readReport } from '../tracking/read-report.js';
import type { TaskReport } from '../tracking/task-report.js';
import { trackingPathOf } from '../tracking/tracking-path.js';
import { type FailedBlock, type StoreStatus, TrackingStore } from '../tracking/tracking-store.js';
import type { Task } from './task.js';

/** Where a call about a task's tracking store looks for it. */
export interface TrackingPlace {
	/** Directory below which the task's store is, in place of that of the process. */
	trackingDir?: string | URL | null | undefined;
}

/** What is to be reset, and where. */
export interface TaskResetOptions extends TrackingPlace {
	/** Forget the failed attempts of blocks that aren't done, and keep everything else. Default false. */
	failed?: boolean | undefined;
}

/** Where a task's runs were recorded. */
export interface ReportPlace extends TrackingPlace {
	/** Directory below which the task's logs are, in place of that of the process. */
	logDir?: string | URL | null | undefined;
}

const directory: Check<string | null> = (value, path) =>
	value === null ? null : filePath(value, path);

const PLACE = { trackingDir: optional(directory) };
const NAMES = { what: 'option' };

/** Removes a task's store, or forgets its failures; gives its path, or null when there was none. */
export async function resetTask(task: Task, options: TaskResetOptions): Promise<string | null> {
	const table = { ...PLACE, failed: option(boolean, false) };
	const { trackingDir, failed } = readOptions(options, table, NAMES);
	return storeOf(task, trackingDir).reset({ failed });
}

/** How far a task has come, in all runs together. */
export async function taskStatus(task: Task, options: TrackingPlace): Promise<StoreStatus> {
	return storeOf(task, readOptions(options, PLACE, NAMES).trackingDir).status();
}

/** The blocks of a task that failed in some run and are not done. */
export async function failedBlocksOf(task: Task, options: TrackingPlace): Promise<FailedBlock[]> {
	return storeOf(task, readOptions(options, PLACE, NAMES).trackingDir).failedBlocks();
}

/** The report of a task's last run, from its store, else from its logs. */
export async function reportOf(task: Task, options: ReportPlace): Promise<TaskReport> {
	const table = { ...PLACE, logDir: optional(directory) };
	const { trackingDir, logDir = currentSettings().logDir } = readOptions(options, table, NAMES);
	const path = pathOf(task, trackingDir);
	if (path === null && logDir === null) throw noPath(task);
	return readReport({
		store: path === null ? null : TrackingStore.ofTask(path, knownOf(task)),
		spec: task.nativeSpec,
		logFolder: logDir === null ? null : resolve(join(logDir, task.taskId)),
	});
}

function storeOf(task: Task, trackingDir: string | null | undefined): TrackingStore {
	const path = pathOf(task, trackingDir);
	if (path === null) throw noPath(task);
	return TrackingStore.ofTask(path, knownOf(task));
}

function knownOf(task: Task) {
	return { geometry: task.geometry, spec: task.nativeSpec };
}

function pathOf(task: Task, given: string | null | undefined): string | null {
	const trackingDir = given === undefined ? currentSettings().trackingDir : given;
	return trackingPathOf(task, { blockTracking: true, trackingDir });
}

function noPath(task: Task): NoTrackingPathError {
	const id = JSON.stringify(task.taskId);
	return new NoTrackingPathError(
		task.trackingPath === false
			? `task ${id} has no tracking store: its trackingPath is false`
			: `task ${id} has no tracking store: give it a trackingPath, call setTrackingDir(path), or pass { trackingDir: path }`,
		{ taskId: task.taskId },
	);
}
