/** Runs in the driver, as the addon offers them. */
import { EndAtExit } from './end-at-exit.js';
import {
	binding,
	type NativeErrorReport,
	type NativeExit,
	type NativeRun,
	type NativeRunConfig,
	type NativeRunEvent,
	type NativeRunSnapshot,
	unwrap,
} from './native.js';

export type { NativeRun } from './native.js';
export * from './native-serial.js';

/** A process that exits in the middle of a run gives back locks and removes the secret. */
const live = new EndAtExit((handle) => binding.runFree(handle));

/**
 * Opens the stores, listens, and begins the run on a thread of its own. `onEvent` is called after the promise
 * has resolved, and last with `finished`; the process stays alive until then.
 *
 * @throws UncoveredError, LayoutMismatchError, StoreError, StoreLockedError, ConnectionError; nothing has begun then
 */
export async function runStart(
	config: NativeRunConfig,
	onEvent: (event: NativeRunEvent) => void,
): Promise<NativeRun> {
	const run = unwrap(await binding.runStart(config, onEvent));
	live.add(run.handle);
	return run;
}

/** What a launcher says of a worker that it started. */
export interface WorkerStart {
	pid: number | null;
	/** Whether {@link runWorkerExited} will follow. */
	tracksExit: boolean;
	description: string;
}

export function runWorkerStarted(handle: number, worker: number, start: WorkerStart): void {
	unwrap(binding.runWorkerStarted(handle, worker, start.tracksExit));
}

/** Why a launcher failed. With `fatal`, no other start could succeed, and the run ends. */
export interface StartFailure {
	message: string;
	fatal: boolean;
	/** Code of an error class; null for none. */
	code: string | null;
}

export function runStartFailed(handle: number, worker: number, failure: StartFailure): void {
	const { message, fatal, code } = failure;
	if (fatal) {
		runFail(handle, code ?? 'ERR_BELLIS_MODULE', message);
		return;
	}
	const error = { name: 'LauncherError', message, stack: null, details: null };
	unwrap(binding.runStartFailed(handle, worker, error));
}

/** A worker's process ended; also confirms a stop. */
export function runWorkerExited(handle: number, worker: number, exit: NativeExit): void {
	unwrap(binding.runWorkerExited(handle, worker, exit));
}

/** Answers to a `check` event in its order: 0 not done, 1 done, 2 the function failed. */
export function runChecked(
	handle: number,
	task: number,
	answers: Uint8Array,
	firstError: NativeErrorReport | null,
): void {
	unwrap(binding.runChecked(handle, task, answers, firstError));
}

/** Asks for an end in order: running blocks get the shutdown grace. */
export function runInterrupt(handle: number, _reason: string): void {
	unwrap(binding.runInterrupt(handle));
}

/** Ends the run at once: all workers are to be killed. */
export function runAbort(handle: number): void {
	unwrap(binding.runAbort(handle));
}

/** Ends the run with an error of ours. */
export function runFail(handle: number, code: string, message: string): void {
	unwrap(binding.runFail(handle, code, message));
}

/** What the run's thread last showed, at most ten times a second. */
export function runSnapshot(handle: number): NativeRunSnapshot | null {
	return unwrap(binding.runSnapshot(handle));
}

/** Forgets a run after `finished`. */
export function runFree(handle: number): void {
	live.delete(handle);
	binding.runFree(handle);
}
