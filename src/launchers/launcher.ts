import type { Context } from '../context.js';

/** What a launcher is told about the worker that it is to start. */
export interface LaunchSpec {
	/** The task that the worker will run blocks of. */
	readonly taskId: string;
	/** The worker's number, unique in the run. */
	readonly workerId: number;
	/** The program that a worker is: `command` with `args`, to be run with `env` added to the environment. */
	readonly command: string;
	/** Arguments for `command`: Node's flags first, then bellis's worker entry. */
	readonly args: readonly string[];
	/**
	 * What the worker's environment must hold besides what a process has anyway: `BELLIS_CONTEXT`,
	 * `NODE_OPTIONS` as workers may have it, and the task's own `env`.
	 */
	readonly env: Readonly<Record<string, string>>;
	/**
	 * Who the worker is. `context.toEnv()` is for launchers whose workers don't inherit `env`: it holds no
	 * secret, so it may stand in a command line or a job script.
	 */
	readonly context: Context;
	/** Where stdout and stderr go. */
	readonly logs: WorkerLogs;
}

/** Where a worker's output goes. Launchers for clusters pass the paths to their batch system; the run has made their folder. */
export interface WorkerLogs {
	/** File for stdout, appended to; null when no file is wanted. */
	readonly out: string | null;
	/** File for stderr, appended to; null when no file is wanted. */
	readonly err: string | null;
	/** Whether lines go to the driver's console, and with which prefix. */
	readonly console: 'none' | 'plain' | 'prefixed';
	/** Whether a worker's stdout goes to the console's stderr, since JSON progress has its stdout. Default false. */
	readonly outToStderr?: boolean | undefined;
}

/** How a worker ended. */
export interface Exit {
	/** Exit code; null when a signal ended it or the code is unknown. */
	readonly code: number | null;
	/** Name of the signal that ended it. */
	readonly signal?: string | null | undefined;
	/** The end in words, for example `killed by SIGKILL`. Made from the other fields where it is missing. */
	readonly reason?: string | undefined;
	/** Whether `stop` ended it, and not it itself before. Worked out from the other fields where it is missing. */
	readonly stopped?: boolean | undefined;
	/** The last lines that the worker wrote to stderr. */
	readonly stderrTail?: string | undefined;
}

/** A started worker. */
export interface Handle {
	/**
	 * Settles when the worker is gone. A launcher that submits and returns has none: such a worker
	 * lives and dies by its connection, with the task's `connectTimeoutMs`.
	 */
	readonly exited?: Promise<Exit> | undefined;
	/** The process id, where the worker runs on this machine. */
	readonly pid?: number | null | undefined;
	/**
	 * Ends the worker: politely at first, by force after `graceMs` milliseconds (0: by force at once).
	 * Called more than once when the grace is cut short.
	 */
	stop(graceMs: number): void | Promise<void>;
	/** What it is, for messages: `process 4711`, `job 12 of slurm`. */
	describe(): string;
}

/**
 * Starts workers. `start` may throw or reject: that is a failed start, an attempt of the task's
 * budget. `signal` aborts when the run ends before `start` has returned.
 */
export interface Launcher {
	/** Starts the worker that `spec` describes, and resolves when it has been started or submitted. */
	start(spec: LaunchSpec, signal: AbortSignal): Promise<Handle>;
}
