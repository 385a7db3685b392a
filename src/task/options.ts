import type { Block } from '../block.js';
import type { Context } from '../context.js';
import { FITS, type Fit } from '../fit.js';
import type { FunctionOption } from '../functions/reference.js';

import { type Roi, type RoiLike, readRoi } from '../geometry/roi.js';
import type { Launcher } from '../launchers/launcher.js';
import {
	anyFunction,
	boolean,
	filePath,
	integer,
	milliseconds,
	oneOf,
	recordOf,
	refusal,
	resourceAmounts,
	strings,
} from '../option-checks.js';
import {
	type Check,
	option,
	optional,
	type Resolved,
	readOptions,
	required,
} from '../option-table.js';
import { availableWorkers } from './available-workers.js';
import { DEFAULT_TIMEOUT_MS } from './default-timeout.js';
import type { SkipMask } from './skip-mask.js';
import { taskId } from './task-id.js';

/** Runs one block; a throw or a rejection is its failure. */
export type ProcessFunction = (block: Block, context: Context) => unknown;

/** Runs as a worker: makes its own `Client` and asks it for blocks. */
export type WorkerFunction = (context: Context) => unknown;

/** Says whether a block is done already. */
export type CheckFunction = (block: Block) => boolean | Promise<boolean>;

/** What happens to a worker whose block failed. */
export type OnBlockError = 'restart-worker' | 'keep-worker';

/** What happens when a tracking store was written for another layout. */
export type OnLayoutMismatch = 'error' | 'recreate';

/** The options of a task. */
export interface TaskOptions {
	/** Name of the task, unique in its pipeline; it names the task's directories for logs and tracking. */
	taskId: string;
	/** All that the task may read. */
	totalRoi: RoiLike;
	/** What a block reads; only its size and its place relative to `writeRoi` matter. */
	readRoi: RoiLike;
	/** What a block writes, inside `readRoi`; its size is the distance between blocks. */
	writeRoi: RoiLike;
	/** What runs a block: a module (its default export), `{ module, export }`, or a function that uses nothing around it. */
	processFunction?: FunctionOption<ProcessFunction> | undefined;
	/** What runs as a worker and makes its own `Client`, in place of `processFunction`. */
	workerFunction?: FunctionOption<WorkerFunction> | undefined;
	/** Asked in the driver, before a block is given out, whether it is done already. */
	checkFunction?: CheckFunction | undefined;
	/** Whether blocks that read what another one writes must never run together. Default true. */
	readWriteConflict?: boolean | undefined;
	/** What happens at the upper border where blocks don't fit evenly. Default `'valid'`. */
	fit?: Fit | undefined;
	/** Most workers at once, or `'auto'`: as many as this process may use processors. Default 1. */
	maxWorkers?: number | 'auto' | undefined;
	/** Attempts after the first that a block gets. Default 2. */
	maxRetries?: number | undefined;
	/** Starts of workers over the run beyond the first `maxWorkers`. Default 10. */
	maxWorkerRestarts?: number | undefined;
	/** Milliseconds that a block may run. Default 600,000, which is 10 minutes. */
	timeoutMs?: number | undefined;
	/** Directory that remembers what is done; false for none. Default: below the run's tracking directory. */
	trackingPath?: string | URL | false | undefined;
	/** Whether each block is measured and its figures stored; needs a tracking directory. Default false. */
	resourceTracking?: boolean | undefined;
	/** What one worker uses up of the run's `resources`. Default nothing. */
	requires?: Record<string, number> | undefined;
	/** Blocks not to run: one entry for each cell of `blockGridShape`. */
	skipMask?: SkipMask | undefined;
	/**
	 * Whether `checkFunction` is asked about blocks that the store calls done. One that isn't after all loses
	 * its mark before it runs again. Default false.
	 */
	verifyDone?: boolean | undefined;
	/** Whether blocks may read nothing that an upstream task writes. Default false: that is refused. */
	allowUncovered?: boolean | undefined;
	/** What starts the workers. Default: processes on this machine. */
	launcher?: Launcher | undefined;
	/** Passed on to the workers as `context.config`; anything that `structuredClone` takes. */
	config?: unknown;
	/** Node's flags for the workers, in place of those they inherit. */
	execArgv?: readonly string[] | undefined;
	/** Environment variables for the workers, besides those of this process. */
	env?: Record<string, string> | undefined;
	/** Blocks of an async function that run at once in one worker. Default 1. */
	concurrency?: number | undefined;
	/** Of several tasks with ready blocks the one with the highest priority gets workers first. Default 0. */
	priority?: number | undefined;
	/** Milliseconds before a failed block is tried again, doubled for each further try. Default 0. */
	retryDelayMs?: number | undefined;
	/**
	 * Whether a worker whose block threw is replaced or goes on. Default `'restart-worker'` for a block function; for a
	 * worker function, which may catch what a block throws, `'keep-worker'`.
	 */
	onBlockError?: OnBlockError | undefined;
	/** Whether a store of another layout is an error or replaced by an empty one. Default `'error'`. */
	onLayoutMismatch?: OnLayoutMismatch | undefined;
	/** The `totalRoi` that a store without structural parameters was written for, to let it grow. */
	grownFrom?: RoiLike | undefined;
	/** Milliseconds that a worker without a process to watch may take to connect. Default 600,000. */
	connectTimeoutMs?: number | undefined;
}

const maxWorkers: Check<number> = (value, path) => {
	if (value === 'auto') return availableWorkers();
	if (typeof value !== 'number') throw refusal(path, "an integer from 1, or 'auto'", value);
	return integer(1)(value, path);
};

const launcher: Check<Launcher> = (value, path) => {
	if (typeof value !== 'object' || value === null || !('start' in value)) {
		throw refusal(path, 'a launcher, an object with a method start(spec, signal)', value);
	}
	anyFunction(value.start, `${path}.start`);
	return value as Launcher;
};

const cloneable: Check<unknown> = (value, path) => {
	try {
		structuredClone(value);
	} catch {
		throw refusal(path, 'something that structuredClone takes', value);
	}
	return value;
};

const namedStrings = recordOf<string>((value, path) => {
	if (typeof value !== 'string') throw refusal(path, 'a string', value);
	if (value.includes('\0')) throw refusal(path, 'a string without null characters', value);
	return value;
}, 'an object of strings by name');

const environment: Check<Readonly<Record<string, string>>> = (value, path) => {
	const given = namedStrings(value, path);
	for (const name of Object.keys(given)) {
		if (name !== '' && !/[=\0]/.test(name)) continue;
		throw refusal(path, "an object whose names are neither empty nor hold '='", value);
	}
	return given;
};

const trackingPath: Check<string | false> = (value, path) =>
	value === false ? false : filePath(value, path);

const as = <T>(check: Check<unknown>) => check as Check<T>;
const unchecked: Check<unknown> = (value) => value;

/**
 * Every option of a task: how it is checked and what its default is. Functions and the mask are
 * checked by the task, which knows its caller and its grid.
 */
const TASK_OPTIONS = {
	taskId: required(taskId),
	totalRoi: required<Roi>(readRoi),
	readRoi: required<Roi>(readRoi),
	writeRoi: required<Roi>(readRoi),
	processFunction: optional(as<FunctionOption<ProcessFunction>>(unchecked)),
	workerFunction: optional(as<FunctionOption<WorkerFunction>>(unchecked)),
	checkFunction: optional(as<CheckFunction>(anyFunction)),
	readWriteConflict: option(boolean, true),
	fit: option<Fit>(oneOf(...FITS), 'valid'),
	maxWorkers: option(maxWorkers, 1),
	maxRetries: option(integer(0), 2),
	maxWorkerRestarts: option(integer(0), 10),
	timeoutMs: option(milliseconds('positive'), DEFAULT_TIMEOUT_MS),
	trackingPath: optional(trackingPath),
	resourceTracking: option(boolean, false),
	requires: option(resourceAmounts, Object.freeze({})),
	skipMask: optional(as<SkipMask>(unchecked)),
	verifyDone: option(boolean, false),
	allowUncovered: option(boolean, false),
	launcher: optional(launcher),
	config: optional(cloneable),
	execArgv: optional(strings),
	env: option(environment, Object.freeze({})),
	concurrency: option(integer(1), 1),
	priority: option(integer(-(2 ** 31), 2 ** 31 - 1), 0),
	retryDelayMs: option(milliseconds('zero-or-more'), 0),
	onBlockError: optional<OnBlockError>(oneOf('restart-worker', 'keep-worker')),
	onLayoutMismatch: option<OnLayoutMismatch>(oneOf('error', 'recreate'), 'error'),
	grownFrom: optional<Roi>(readRoi),
	connectTimeoutMs: option(milliseconds('positive'), DEFAULT_TIMEOUT_MS),
};

/** The names of all options of a task. */
export const taskOptionNames = Object.keys(TASK_OPTIONS) as (keyof TaskOptions)[];

/** The checked options of a task, defaults filled in. */
export type ResolvedTaskOptions = Resolved<typeof TASK_OPTIONS>;

/** Checks the options of a task, each by itself. */
export function readTaskOptions(given: unknown): ResolvedTaskOptions {
	return readOptions(given, TASK_OPTIONS, {
		what: 'task option',
		synonyms: {
			id: 'taskId',
			name: 'taskId',
			roi: 'totalRoi',
			blockFunction: 'processFunction',
			processFn: 'processFunction',
			process: 'processFunction',
			function: 'processFunction',
			workerFn: 'workerFunction',
			worker: 'workerFunction',
			spawn: 'workerFunction',
			checkFn: 'checkFunction',
			check: 'checkFunction',
			conflict: 'readWriteConflict',
			workers: 'maxWorkers',
			numWorkers: 'maxWorkers',
			workerProcesses: 'maxWorkers',
			retries: 'maxRetries',
			restarts: 'maxWorkerRestarts',
			timeout: 'timeoutMs',
			timeoutSecs: 'timeoutMs',
			doneMarkerPath: 'trackingPath',
			mask: 'skipMask',
			resources: 'requires',
			retryDelay: 'retryDelayMs',
			connectTimeout: 'connectTimeoutMs',
		},
		hints: {
			upstreamTasks: 'connect tasks with chain(upstream, task)',
			upstream_tasks: 'connect tasks with chain(upstream, task)',
		},
	});
}
