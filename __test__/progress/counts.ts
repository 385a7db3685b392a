import type { TaskCounts } from '../../src/progress/observer.ts';

/** Counts of a running task, changed as a test needs. */
export const counts = (more: Partial<TaskCounts> = {}): TaskCounts => ({
	total: 8,
	ready: 0,
	pending: 0,
	processing: 0,
	completed: 0,
	skipped: 0,
	failed: 0,
	orphaned: 0,
	workerRestarts: 0,
	workerFailures: 0,
	started: true,
	done: false,
	abandoned: false,
	...more,
});
