/**
 * What a run hands to its summary: plain data, no handles. Durations are seconds, sizes bytes.
 * The quantities are those of daisy's run report: startup (start of a worker to its first request for a block, queueing
 * included), idle (gap before each block), compute (round trip of a block, failed attempts included),
 * teardown (shutdown reply to exit).
 */

/** Distribution of a quantity: `std` is the sample form (n - 1), NaN below two samples. */
export interface Distribution {
	/** Number of samples. */
	readonly count: number;
	/** NaN without samples. */
	readonly mean: number;
	/** NaN below two samples. */
	readonly std: number;
	/** Sum of all samples; 0 without samples. */
	readonly sum: number;
}

/** How a worker ended: `running` when the run ended before it. */
export type WorkerExitKind = 'clean' | 'error' | 'running';

/** One worker's part of a run. */
export interface WorkerReport {
	readonly workerId: number;
	/** Seconds from start to the first request for a block; null for a worker that never asked for one. */
	readonly startupSeconds: number | null;
	/** Blocks it ran, failed attempts included. */
	readonly blocks: number;
	/** Seconds of idling before each block. */
	readonly idle: Distribution;
	/** Seconds of each block, failed attempts included. */
	readonly compute: Distribution;
	/** Seconds from the shutdown reply to exit; null after an error exit. */
	readonly teardownSeconds: number | null;
	readonly exit: WorkerExitKind;
	/** The exit in words, such as `killed by SIGKILL`; empty for a clean one. */
	readonly exitReason: string;
}

/** A block as reports name it. */
export interface ReportedBlock {
	/** Such as `mws/7`. */
	readonly id: string;
	/** Place in the task's grid of blocks. */
	readonly index: readonly number[];
	/** Corners of what it writes. */
	readonly writes: { readonly begin: readonly number[]; readonly end: readonly number[] };
}

/** A failure of a block, as a worker reported it or as the driver saw it. */
export interface FailureReport {
	/** The block that failed; null when none was to blame. */
	readonly block: ReportedBlock | null;
	/** Null in serial mode. */
	readonly workerId: number | null;
	/** 1 for the first. */
	readonly attempt: number;
	/** Such as `TypeError`; `ThrownValue` for what is no error. */
	readonly name: string;
	/** The error's message. */
	readonly message: string;
	/** Stack with the user's file and line, causes included; empty when there is none. */
	readonly stack: string;
}

/** In-worker measurements over the blocks that succeeded in this run; only with `resourceTracking`. */
export interface ResourceReport {
	readonly wall: Distribution;
	readonly cpu: Distribution;
	readonly peakRssBytes: Distribution;
	readonly ioReadBytes: Distribution;
	readonly ioWriteBytes: Distribution;
	/** Largest resident set of any block. */
	readonly maxPeakRssBytes: number;
	/** Why a measurement is missing, such as `memory and I/O: not measured on this platform`; empty when nothing is. */
	readonly notes: readonly string[];
}

/** One task's part of a run. */
export interface TaskRunReport {
	readonly taskId: string;
	readonly total: number;
	readonly ready: number;
	readonly pending: number;
	readonly processing: number;
	/** Includes `skipped`. */
	readonly completed: number;
	readonly skipped: number;
	readonly failed: number;
	readonly orphaned: number;
	/** Null unless the task was abandoned. */
	readonly abandonReason: string | null;
	readonly workerStarts: number;
	readonly workerRestarts: number;
	/** Workers that ended with an error. */
	readonly workerFailures: number;
	/** Attempts that failed, retried ones included. */
	readonly failedAttempts: number;
	readonly timeouts: number;
	readonly timeoutMs: number;
	/** Whether `timeoutMs` is the default. */
	readonly timeoutIsDefault: boolean;
	/** Blocks whose `checkFunction` threw or gave no boolean. */
	readonly checkErrors: number;
	/** The failures kept, in the order in which blocks failed for good. */
	readonly failures: readonly FailureReport[];
	/** Seconds from the task's first start of a worker (or first skip) to its end. */
	readonly wallSeconds: number;
	/** Round trips of blocks that succeeded. */
	readonly roundTrip: Distribution;
	/** In order of worker id. */
	readonly workers: readonly WorkerReport[];
	readonly resources: ResourceReport | null;
	/** Where this task's worker logs are; null when no file was written. */
	readonly logDir: string | null;
}

/** A whole run. */
export interface RunReport {
	/** In display order. */
	readonly tasks: readonly TaskRunReport[];
	/** Name of the signal that interrupted the run, else null. */
	readonly interrupted: string | null;
	/** Parent folder of the tasks' log folders; null when no file was written. */
	readonly logDir: string | null;
	/** Seconds from call to end. */
	readonly wallSeconds: number;
	/** The driver's own cost; null where it wasn't recorded. */
	readonly driver: { readonly cpuSeconds: number; readonly peakRssBytes: number } | null;
}
