import type { Block } from './block.js';
import type { NestedError } from './error-report.js';

/** An attempt at a block that failed for good, or a worker that failed without a block. */
export interface BlockFailure {
	/** Id of the block's task. */
	readonly taskId: string;
	/** Null when the worker had no block in hand. */
	readonly block: Block | null;
	/** Number of the worker; null in serial mode. */
	readonly workerId: number | null;
	/** 1 for the first. */
	readonly attempt: number;
	/** Such as `TypeError`; `ThrownValue` for what is no error. */
	readonly name: string;
	/** The error's message; of what is no error, the value as text. */
	readonly message: string;
	/** With the user's file and line; null when there is none. */
	readonly stack: string | null;
	/** The error's `cause`; null when it has none. */
	readonly cause: NestedError | null;
}

/** How far a task has come. `ready + pending + processing + completed + failed + orphaned` is `total`. */
export interface TaskState {
	/** Blocks of the task. */
	readonly total: number;
	/** Blocks that could run now. */
	readonly ready: number;
	/** Blocks that wait for others. */
	readonly pending: number;
	/** Blocks in workers' hands. */
	readonly processing: number;
	/** Blocks that are done, skipped ones included. */
	readonly completed: number;
	/** Blocks that were found done or were masked. */
	readonly skipped: number;
	/** Blocks that failed and have no attempt left. */
	readonly failed: number;
	/** Blocks that never run because of a failure before them. */
	readonly orphaned: number;
	/** Whether any block was given out or skipped. */
	readonly started: boolean;
	/** Whether every block has reached its end. */
	readonly done: boolean;
	/** Whether the task was given up. */
	readonly abandoned: boolean;
	/** Why it was given up: `worker restart cap exhausted` or `upstream task abandoned`; null when it wasn't. */
	readonly abandonReason: string | null;
	/** Workers started. */
	readonly workerStarts: number;
	/** Workers started after the first `maxWorkers`. */
	readonly workerRestarts: number;
	/** Workers that ended with an error. */
	readonly workerFailures: number;
	/** Attempts at blocks that failed, retried ones included. */
	readonly failedAttempts: number;
	/** Blocks whose `checkFunction` threw or gave no boolean. */
	readonly checkErrors: number;
	/** Attempts that exceeded the block timeout. */
	readonly timeouts: number;
	/** The task's block timeout, in milliseconds. */
	readonly timeoutMs: number;
	/** The first error of a block or a worker, in words; null without any. */
	readonly firstError: string | null;
	/** The last one. */
	readonly lastError: string | null;
	/** The first blocks that failed for good; `failed` counts all. */
	readonly failures: readonly BlockFailure[];
}
