import type { NativeBlockFailure } from '../native.js';
import type { Task } from '../task/task.js';

/** A started worker's end, as told to observers. */
export interface WorkerEnd {
	readonly reason: string;
	readonly clean: boolean;
}

/** Something that a run says once. */
export interface RunNotice {
	readonly level: 'info' | 'warning';
	/** Stable name of the kind of notice. */
	readonly code: string;
	readonly message: string;
}

/** What a run tells while it goes on. */
export interface RunListener {
	onWorkerStarted(task: Task, workerId: number): void;
	onWorkerExited(task: Task, workerId: number, end: WorkerEnd): void;
	onFailure(task: Task, failure: NativeBlockFailure): void;
	onNotice(task: Task | null, notice: RunNotice): void;
}
