import type { RunEvent } from './events.js';

/** The counts of one task that progress is shown from: a part of its `TaskState`. */
export interface TaskCounts {
	readonly total: number;
	readonly ready: number;
	readonly pending: number;
	readonly processing: number;
	/** Includes `skipped`. */
	readonly completed: number;
	readonly skipped: number;
	readonly failed: number;
	readonly orphaned: number;
	readonly workerRestarts: number;
	/** Workers that ended with an error. */
	readonly workerFailures: number;
	readonly started: boolean;
	readonly done: boolean;
	readonly abandoned: boolean;
}

/** Counts by task id, in display order. */
export type Counts = Readonly<Record<string, TaskCounts>>;

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
