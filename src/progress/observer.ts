import type { RunEvent } from './events.js';

/** The counts of one task that progress is shown from: a part of its `TaskState`. */
export interface TaskCounts {
	/** Blocks of the task. */
	readonly total: number;
	/** Blocks that could run now. */
	readonly ready: number;
	/** Blocks that wait for others. */
	readonly pending: number;
	/** Blocks in workers' hands. */
	readonly processing: number;
	/** Includes `skipped`. */
	readonly completed: number;
	/** Blocks that were found done or were masked. */
	readonly skipped: number;
	/** Blocks that failed and have no attempt left. */
	readonly failed: number;
	/** Blocks that never run because of a failure before them. */
	readonly orphaned: number;
	/** Workers started after the first `maxWorkers`. */
	readonly workerRestarts: number;
	/** Workers that ended with an error. */
	readonly workerFailures: number;
	/** Whether any block was given out or skipped. */
	readonly started: boolean;
	/** Whether every block has reached its end. */
	readonly done: boolean;
	/** Whether the task was given up. */
	readonly abandoned: boolean;
}

/** Counts by task id, in display order; JavaScript puts ids that are whole numbers first. */
export type Counts = Readonly<Record<string, TaskCounts>>;

/** The order that counts were made in, which their keys don't keep where ids are whole numbers. */
const orders = new WeakMap<Counts, readonly string[]>();

/** Counts that know their order. */
export function orderedCounts(entries: readonly (readonly [string, TaskCounts])[]): Counts {
	const counts = Object.fromEntries(entries);
	orders.set(
		counts,
		entries.map(([taskId]) => taskId),
	);
	return counts;
}

/** Counts with their task ids, in display order. */
export function entriesOf(counts: Counts): [taskId: string, counts: TaskCounts][] {
	const order = orders.get(counts);
	if (order === undefined) return Object.entries(counts);
	return order.map((taskId) => [taskId, counts[taskId]!]);
}

/**
 * Told how a run goes. Every method may be left out; a method that throws never hurts the run.
 * `onProgress` is called at most ten times a second, however fast blocks go.
 */
export interface ProgressObserver {
	/** The run has started. */
	onStart?(states: Counts): void;
	/** Some blocks have ended since the last call. */
	onProgress?(states: Counts): void;
	/** The run has ended, for whatever reason. */
	onFinish?(states: Counts): void;
	/** Everything, as typed events: see {@link RunEvent}. */
	onEvent?(event: RunEvent): void;
}
