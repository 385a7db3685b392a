import type { ClientQueue } from './client-queue.js';

/**
 * Environment variable with the function of a task whose function makes its own client. Such a worker
 * has no line to the driver that could bring it.
 */
export const FUNCTION_VARIABLE = 'BELLIS_FUNCTION';

/**
 * A mark on the process that says what it is. It is kept under a registered symbol, so that two copies of
 * the package in one process see the same.
 */
const KEY = Symbol.for('bellis.worker');

/** What a process that bellis started as a worker knows about itself. */
export interface WorkerMark {
	/** Id of the task that it works for. */
	readonly taskId: string;
	/** Its own context with the secret, which the environment doesn't hold any more. */
	readonly contextText: string;
	/** Whether the module with the user's function is being imported. */
	loading: boolean;
	/** Clients of this process: asked for the block in hand when it ends. */
	readonly queues: Set<ClientQueue>;
	/** Set when the user's module tried to start a run. */
	nestedRun?: Error;
}

type Marked = { [KEY]?: WorkerMark };

/** Marks this process as a worker of the task. */
export function markAsWorker(taskId: string, contextText: string): WorkerMark {
	const mark: WorkerMark = { taskId, contextText, loading: true, queues: new Set() };
	(globalThis as Marked)[KEY] = mark;
	return mark;
}

/** The mark of this process; undefined in a driver or in a program of the user's own. */
export function workerMark(): WorkerMark | undefined {
	return (globalThis as Marked)[KEY];
}
