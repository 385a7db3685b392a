import {
	anyFunction,
	boolean,
	filePath,
	integer,
	milliseconds,
	oneOf,
	refusal,
	resourceAmounts,
} from '../option-checks.js';
import { type Check, option, optional, type Resolved, readOptions } from '../option-table.js';
import type { ProgressObserver } from '../progress/observer.js';
import { currentSettings, type LogMode, logMode } from '../settings.js';

/** Order in which blocks are given out. */
export type RunOrder = 'levels' | 'depth-first';

/** The options of a run. */
export interface RunOptions {
	/** What the workers of all tasks may use up together, by name. Default nothing. */
	resources?: Record<string, number> | undefined;
	/** Whether blocks run in worker processes; false runs them one by one in this one. Default true. */
	multiprocessing?: boolean | undefined;
	/** Whether tracking stores are used. Default true. */
	blockTracking?: boolean | undefined;
	/** Directory below which each task keeps its tracking store. Default: see `setTrackingDir`. */
	trackingDir?: string | URL | null | undefined;
	/** Directory below which workers log; null for no files. Default: see `setLogDir`. */
	logDir?: string | URL | null | undefined;
	/** Where workers' output goes. Default: see `setLogMode`. */
	logMode?: LogMode | undefined;
	/** Progress bars on stderr; false for none, or an observer in their place. Default true. */
	progress?: boolean | ProgressObserver | undefined;
	/** Whether the summary is printed at the end. Default true. */
	summary?: boolean | undefined;
	/** Address that workers connect to: `'auto'` or a name for those on other machines. Default: `BELLIS_HOST`, else this machine only. */
	host?: string | undefined;
	/** Ends the run when it aborts; the run then rejects with its reason. */
	signal?: AbortSignal | undefined;
	/** Whether a level is finished first or a chain of tasks keeps its intermediate data small. Default `'levels'`. */
	order?: RunOrder | undefined;
	/** Ends the run after so many blocks failed for good. Default: no limit. */
	maxFailures?: number | undefined;
	/** Ends the run at the first block that failed for good. Default false. */
	failFast?: boolean | undefined;
	/**
	 * Milliseconds that running blocks have when the run is stopped. Default 5,000. A synchronous block
	 * of a run in this process (`multiprocessing: false`) can't be stopped, and no signal is seen before
	 * it returns: SIGQUIT (Ctrl-\) or SIGKILL end the process; what finished is on record.
	 */
	shutdownGraceMs?: number | undefined;
	/** Failures that the summary shows, from the first failed task on; the rest is counted. Default 1. */
	failuresShown?: number | undefined;
	/** Whether the result holds the tasks' states in place of a boolean. Default false. */
	returnStates?: boolean | undefined;
}

/** A directory, or null for none. */
export const directoryOrNone: Check<string | null> = (value, path) =>
	value === null ? null : filePath(value, path);

const host: Check<string> = (value, path) => {
	if (typeof value !== 'string' || value === '' || /[\s\0]/.test(value)) {
		throw refusal(path, "'auto', or the name or address of this machine", value);
	}
	return value;
};

const signal: Check<AbortSignal> = (value, path) => {
	if (!(value instanceof AbortSignal)) throw refusal(path, 'an AbortSignal', value);
	return value;
};

const progress: Check<boolean | ProgressObserver> = (value, path) => {
	if (typeof value === 'boolean') return value;
	const observer = typeof value === 'object' ? (value as ProgressObserver | null) : null;
	if (observer === null || Array.isArray(observer)) {
		throw refusal(path, 'true, false or an observer', value);
	}
	const methods = ['onStart', 'onProgress', 'onFinish', 'onEvent'] as const;
	const given = methods.filter((name) => observer[name] !== undefined);
	if (given.length === 0) {
		throw refusal(path, `an observer with ${methods.join(', ')}`, value);
	}
	for (const name of given) anyFunction(observer[name], `${path}.${name}`);
	return observer;
};

const RUN_OPTIONS = {
	resources: option(resourceAmounts, Object.freeze({})),
	multiprocessing: option(boolean, true),
	blockTracking: option(boolean, true),
	trackingDir: optional(directoryOrNone),
	logDir: optional(directoryOrNone),
	logMode: optional<LogMode>(logMode),
	progress: option(progress, true),
	summary: option(boolean, true),
	host: optional(host),
	signal: optional(signal),
	order: option<RunOrder>(oneOf('levels', 'depth-first'), 'levels'),
	maxFailures: optional(integer(1, Number.MAX_SAFE_INTEGER)),
	failFast: option(boolean, false),
	shutdownGraceMs: option(milliseconds('zero-or-more'), 5000),
	failuresShown: option(integer(0), 1),
	returnStates: option(boolean, false),
};

/** The checked options of a run; directories and log mode as set for the process unless given. */
export type ResolvedRunOptions = Omit<
	Resolved<typeof RUN_OPTIONS>,
	'trackingDir' | 'logDir' | 'logMode'
> & {
	readonly trackingDir: string | null;
	readonly logDir: string | null;
	readonly logMode: LogMode;
};

/** Checks the options of a run. */
export function readRunOptions(given: unknown = {}): ResolvedRunOptions {
	const resolved = readOptions(given, RUN_OPTIONS, {
		what: 'run option',
		synonyms: {
			tracking: 'blockTracking',
			trackingPath: 'trackingDir',
			logs: 'logDir',
			logPath: 'logDir',
			quiet: 'summary',
			verbose: 'summary',
			hostname: 'host',
			abortSignal: 'signal',
			stopOnError: 'failFast',
			grace: 'shutdownGraceMs',
			shutdownGrace: 'shutdownGraceMs',
			states: 'returnStates',
			serial: 'multiprocessing',
		},
		hints: {
			maxWorkers: 'it is an option of each task',
			timeoutMs: 'it is an option of each task',
		},
	});
	const settings = currentSettings();
	return {
		...resolved,
		trackingDir: resolved.trackingDir === undefined ? settings.trackingDir : resolved.trackingDir,
		logDir: resolved.logDir === undefined ? settings.logDir : resolved.logDir,
		logMode: resolved.logMode ?? settings.logMode,
	};
}
