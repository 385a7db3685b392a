import { join, resolve } from 'node:path';
import type { Task } from '../task/task.js';

/**
 * Where a task's store is in a run: its own `trackingPath`, else below the tracking directory; null for
 * none. `trackingPath: false` wins over all.
 */
export function trackingPathOf(
	task: Task,
	options: { readonly blockTracking: boolean; readonly trackingDir: string | null },
): string | null {
	if (!options.blockTracking || task.trackingPath === false) return null;
	if (task.trackingPath !== undefined) return resolve(task.trackingPath);
	return options.trackingDir === null ? null : resolve(join(options.trackingDir, task.taskId));
}
