/**
 * Every error that bellis throws on purpose: one class a kind, each with a stable `code` and typed
 * fields. `isBellisError` narrows to them, also across two copies of the package.
 */

const BRAND = Symbol.for('bellis.error');

/** The stable codes, one for each class. */
export type BellisErrorCode = keyof BellisErrorByCode;

/** Which class carries which code. */
export interface BellisErrorByCode {
	/** An option or argument can't be used. */
	ERR_BELLIS_VALIDATION: ValidationError;
	/** Tasks don't make a pipeline. */
	ERR_BELLIS_PIPELINE: PipelineError;
	/** A block reads what its upstream task doesn't write. */
	ERR_BELLIS_UNCOVERED: UncoveredError;
	/** A tracking store was written for other regions. */
	ERR_BELLIS_LAYOUT_MISMATCH: LayoutMismatchError;
	/** A tracking store can't be read or written. */
	ERR_BELLIS_STORE: StoreError;
	/** Another run uses the store. */
	ERR_BELLIS_STORE_LOCKED: StoreLockedError;
	/** A task has no store. */
	ERR_BELLIS_NO_TRACKING_PATH: NoTrackingPathError;
	/** A task was given up. */
	ERR_BELLIS_ABANDONED: AbandonedError;
	/** A signal ended the run. */
	ERR_BELLIS_INTERRUPTED: InterruptedError;
	/** The module of a function can't be used. */
	ERR_BELLIS_MODULE: ModuleError;
	/** A function can't go to worker processes, or there is none. */
	ERR_BELLIS_FUNCTION: FunctionError;
	/** The native addon is missing or failed inside. */
	ERR_BELLIS_NATIVE: NativeBindingError;
	/** A worker can't reach its driver or was turned away. */
	ERR_BELLIS_CONNECTION: ConnectionError;
}

interface WithCause {
	/** What led to this error. */
	cause?: unknown;
}

/** Base of all errors of bellis. */
export abstract class BellisError extends Error {
	/** Stable name of the kind of error, to branch on instead of the message. */
	abstract readonly code: BellisErrorCode;

	constructor(message: string, options: WithCause = {}) {
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		Object.defineProperty(this, BRAND, { value: true });
		Object.defineProperty(this, 'name', {
			value: new.target.name,
			configurable: true,
			writable: true,
		});
	}
}

/** Fields of a {@link ValidationError}. */
export interface ValidationDetails extends WithCause {
	/** Where the bad value was given, such as `timeoutMs` or `tasks[2].readRoi`. */
	path: string;
	/** The value that was refused. */
	value?: unknown;
}

/** An argument or option has a value that can't be used. */
export class ValidationError extends BellisError {
	readonly code = 'ERR_BELLIS_VALIDATION';
	/** Where the bad value was given, such as `timeoutMs` or `tasks[2].readRoi`. */
	readonly path: string;
	/** The value that was refused. */
	readonly value: unknown;

	constructor(message: string, details: ValidationDetails) {
		super(message, details);
		this.path = details.path;
		this.value = details.value;
	}
}

/** Tasks that don't make a pipeline: a cycle, one task id twice, an edge to a task not listed. */
export class PipelineError extends BellisError {
	readonly code = 'ERR_BELLIS_PIPELINE';
	/** Ids of the tasks concerned; for a cycle in the order of its edges. */
	readonly taskIds: readonly string[];

	constructor(message: string, details: WithCause & { taskIds?: readonly string[] } = {}) {
		super(message, details);
		this.taskIds = details.taskIds ?? [];
	}
}

/** A region as plain numbers. */
export interface PlainRegion {
	/** The first corner. */
	offset: number[];
	/** The extent on each axis. */
	shape: number[];
}

/** A block of a task reads nothing that its upstream task writes. */
export class UncoveredError extends BellisError {
	readonly code = 'ERR_BELLIS_UNCOVERED';
	/** The task whose block reads what nobody writes. */
	readonly taskId: string;
	/** The upstream task that doesn't write there. */
	readonly upstreamId: string;
	/** The first axis along which the regions miss each other. */
	readonly axis: number;
	/** The region that is read and not written. */
	readonly region: PlainRegion;

	constructor(
		message: string,
		details: WithCause & {
			taskId: string;
			upstreamId: string;
			axis: number;
			region: PlainRegion;
		},
	) {
		super(message, details);
		this.taskId = details.taskId;
		this.upstreamId = details.upstreamId;
		this.axis = details.axis;
		this.region = details.region;
	}
}

/** A tracking store was written for another layout of the task. */
export class LayoutMismatchError extends BellisError {
	readonly code = 'ERR_BELLIS_LAYOUT_MISMATCH';
	/** Directory of the store. */
	readonly path: string;
	/** Layout hash found in the store. */
	readonly stored: string | null;
	/** Layout hash of the task. */
	readonly expected: string;
	/** What differs, where the store says so: names such as `totalRoi.shape`, `writeRoi.offset` and `fit`. */
	readonly fields: readonly string[];

	constructor(
		message: string,
		details: WithCause & {
			path: string;
			stored: string | null;
			expected: string;
			fields?: readonly string[];
		},
	) {
		super(message, details);
		this.path = details.path;
		this.stored = details.stored;
		this.expected = details.expected;
		this.fields = details.fields ?? [];
	}
}

/** A tracking store can't be read or written. */
export class StoreError extends BellisError {
	readonly code = 'ERR_BELLIS_STORE';
	/** File or directory concerned. */
	readonly path: string;

	constructor(message: string, details: WithCause & { path: string }) {
		super(message, details);
		this.path = details.path;
	}
}

/** Another run holds the tracking store. */
export class StoreLockedError extends BellisError {
	readonly code = 'ERR_BELLIS_STORE_LOCKED';
	/** Directory of the store. */
	readonly path: string;
	/** Who holds it, in words, where known. */
	readonly owner: string | null;

	constructor(message: string, details: WithCause & { path: string; owner?: string | null }) {
		super(message, details);
		this.path = details.path;
		this.owner = details.owner ?? null;
	}
}

/** A call needs a tracking store and the task has none. */
export class NoTrackingPathError extends BellisError {
	readonly code = 'ERR_BELLIS_NO_TRACKING_PATH';
	/** The task without a store. */
	readonly taskId: string;

	constructor(message: string, details: WithCause & { taskId: string }) {
		super(message, details);
		this.taskId = details.taskId;
	}
}

/** Fields of an {@link AbandonedError}. */
export interface AbandonedDetails extends WithCause {
	taskId: string;
	reason: string;
	workerFailures: number;
	workerRestarts: number;
	orphaned: number;
	total: number;
	timeouts?: number;
	firstError?: string | null;
	lastError?: string | null;
}

/** A task was given up because its workers kept dying, or because its upstream task was given up. */
export class AbandonedError extends BellisError {
	readonly code = 'ERR_BELLIS_ABANDONED';
	/** The task that was given up. */
	readonly taskId: string;
	/** `worker restart cap exhausted` or `upstream task abandoned`. */
	readonly reason: string;
	/** Workers that ended with an error. */
	readonly workerFailures: number;
	/** Workers started after the first `maxWorkers`. */
	readonly workerRestarts: number;
	/** Blocks that never ran because of it. */
	readonly orphaned: number;
	/** Blocks of the task. */
	readonly total: number;
	/** Attempts taken back because they exceeded the block timeout. */
	readonly timeouts: number;
	/** The first worker error of the task, where one was captured. */
	readonly firstError: string | null;
	/** The last worker error of the task, where one was captured. */
	readonly lastError: string | null;

	constructor(message: string, details: AbandonedDetails) {
		super(message, details);
		this.taskId = details.taskId;
		this.reason = details.reason;
		this.workerFailures = details.workerFailures;
		this.workerRestarts = details.workerRestarts;
		this.orphaned = details.orphaned;
		this.total = details.total;
		this.timeouts = details.timeouts ?? 0;
		this.firstError = details.firstError ?? null;
		this.lastError = details.lastError ?? null;
	}
}

/** The run was ended by a signal. */
export class InterruptedError extends BellisError {
	readonly code = 'ERR_BELLIS_INTERRUPTED';
	/** The signal, such as `SIGINT`. */
	readonly signal: NodeJS.Signals;
	/** What a shell would show for it: 130 for SIGINT, 143 for SIGTERM. */
	readonly exitCode: number;

	constructor(message: string, details: WithCause & { signal: NodeJS.Signals; exitCode: number }) {
		super(message, details);
		this.signal = details.signal;
		this.exitCode = details.exitCode;
	}
}

/** Why a module can't be used. */
export type ModuleProblem = 'not-found' | 'no-export' | 'not-a-function' | 'threw' | 'typescript';

/** The module that holds a task's function can't be used. */
export class ModuleError extends BellisError {
	readonly code = 'ERR_BELLIS_MODULE';
	/** URL of the module. */
	readonly module: string;
	/** Name of the export asked for. */
	readonly exportName: string;
	/** What is wrong with the module. */
	readonly problem: ModuleProblem;

	constructor(
		message: string,
		details: WithCause & { module: string; exportName?: string; problem: ModuleProblem },
	) {
		super(message, details);
		this.module = details.module;
		this.exportName = details.exportName ?? 'default';
		this.problem = details.problem;
	}
}

/** A function can't be sent to worker processes, or a task has none to run. */
export class FunctionError extends BellisError {
	readonly code = 'ERR_BELLIS_FUNCTION';
	/** The task concerned. */
	readonly taskId: string;
	/** The option that holds the function. */
	readonly option: string;
	/** Names that the function uses from outside itself. */
	readonly freeVariables: readonly string[];

	constructor(
		message: string,
		details: WithCause & {
			taskId?: string;
			option?: string;
			freeVariables?: readonly string[];
		} = {},
	) {
		super(message, details);
		this.taskId = details.taskId ?? '';
		this.option = details.option ?? 'processFunction';
		this.freeVariables = details.freeVariables ?? [];
	}
}

/** The native addon can't be loaded, or failed inside. */
export class NativeBindingError extends BellisError {
	readonly code = 'ERR_BELLIS_NATIVE';
	/** The platform that an addon was looked for, as in `process.platform`. */
	readonly platform: string = process.platform;
	/** Its processor, as in `process.arch`. */
	readonly arch: string = process.arch;
}

/** A worker can't reach its driver, or was turned away. */
export class ConnectionError extends BellisError {
	readonly code = 'ERR_BELLIS_CONNECTION';
	/** Address tried, where known. */
	readonly hostname: string | null;
	/** TCP port tried, where known. */
	readonly port: number | null;

	constructor(
		message: string,
		details: WithCause & { hostname?: string | null; port?: number | null } = {},
	) {
		super(message, details);
		this.hostname = details.hostname ?? null;
		this.port = details.port ?? null;
	}
}

const CLASSES: {
	[Code in BellisErrorCode]: new (
		message: string,
		// biome-ignore lint/suspicious/noExplicitAny: each class has its own details
		details: any,
	) => BellisErrorByCode[Code];
} = {
	ERR_BELLIS_VALIDATION: ValidationError,
	ERR_BELLIS_PIPELINE: PipelineError,
	ERR_BELLIS_UNCOVERED: UncoveredError,
	ERR_BELLIS_LAYOUT_MISMATCH: LayoutMismatchError,
	ERR_BELLIS_STORE: StoreError,
	ERR_BELLIS_STORE_LOCKED: StoreLockedError,
	ERR_BELLIS_NO_TRACKING_PATH: NoTrackingPathError,
	ERR_BELLIS_ABANDONED: AbandonedError,
	ERR_BELLIS_INTERRUPTED: InterruptedError,
	ERR_BELLIS_MODULE: ModuleError,
	ERR_BELLIS_FUNCTION: FunctionError,
	ERR_BELLIS_NATIVE: NativeBindingError,
	ERR_BELLIS_CONNECTION: ConnectionError,
};

/**
 * Builds the error class that belongs to a code. An unknown code gives a {@link NativeBindingError},
 * so that no failure gets lost.
 */
export function bellisErrorOf(
	code: string,
	message: string,
	details: Record<string, unknown> = {},
): BellisError {
	const known = Object.hasOwn(CLASSES, code) ? CLASSES[code as BellisErrorCode] : undefined;
	return known === undefined
		? new NativeBindingError(`${message} (${code})`, details)
		: new known(message, details);
}

/**
 * Whether `error` was thrown by bellis and is of the kind that `code` names.
 *
 * @example
 * if (isBellisError(error, 'ERR_BELLIS_VALIDATION')) console.log(error.path)
 */
export function isBellisError<Code extends BellisErrorCode>(
	error: unknown,
	code: Code,
): error is BellisErrorByCode[Code];
/** Whether `error` was thrown by bellis, of whichever kind. */
export function isBellisError(error: unknown): error is BellisErrorByCode[BellisErrorCode];
export function isBellisError(error: unknown, code?: BellisErrorCode): boolean {
	return (
		typeof error === 'object' &&
		error !== null &&
		(error as { [BRAND]?: unknown })[BRAND] === true &&
		(code === undefined || (error as { code?: unknown }).code === code)
	);
}
