/** Runs without workers, as the addon offers them: this thread takes blocks and gives them back. */
import type { BlockStats } from './block.js';
import { EndAtExit } from './end-at-exit.js';
import {
	binding,
	FAILED,
	hotError,
	type NativeErrorReport,
	type NativeRunConfig,
	type NativeRunEvent,
	type NativeRunResult,
	type NativeTaskState,
	shared,
	unwrap,
} from './native.js';

/** A process that exits in the middle of a run gives back the locks of its stores. */
const live = new EndAtExit((handle) => binding.serialFree(handle));

/**
 * Opens the stores of a run. Retries, workers and timeouts in the config mean nothing here.
 *
 * @throws UncoveredError, LayoutMismatchError, StoreError, StoreLockedError; nothing has begun then
 */
export async function serialStart(config: NativeRunConfig): Promise<number> {
	const handle = unwrap(await binding.serialStart(config));
	live.add(handle);
	return handle;
}

/** What opening the stores had to tell, once. */
export function serialNotices(handle: number): NativeRunEvent[] {
	return unwrap(binding.serialNotices(handle));
}

/** What {@link serialTake} gives when there is more to skip first: call it again. */
export const MORE_TO_SKIP = -3;

/** The next block of a task; -1 when none is ready. */
export function serialTake(handle: number, task: number): number {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = 0;
	return checked(binding.serialTake());
}

/** What the check function said of a block that was taken: 0 not done, 1 done (skipped then), 2 it failed. */
export function serialChecked(handle: number, task: number, block: number, answer: number): void {
	name(handle, task, block);
	shared[3] = answer;
	checked(binding.serialChecked());
}

/** A block begins to run. */
export function serialBegin(handle: number, task: number, block: number): void {
	name(handle, task, block);
	checked(binding.serialBegin());
}

/** A block is done and recorded. Gives what it cost, if its task measures. */
export function serialRelease(handle: number, task: number, block: number): BlockStats | null {
	name(handle, task, block);
	if (checked(binding.serialRelease()) === 0) return null;
	return {
		wallSeconds: shared[3]!,
		cpuSeconds: shared[4]!,
		peakRssBytes: shared[5]!,
		ioReadBytes: shared[6]!,
		ioWriteBytes: shared[7]!,
	};
}

/** A block that was taken goes back as if it had never been. */
export function serialGiveBack(handle: number, task: number, block: number): void {
	name(handle, task, block);
	checked(binding.serialGiveBack());
}

/** A block failed, for good. */
export function serialFail(
	handle: number,
	task: number,
	block: number,
	error: NativeErrorReport,
): void {
	unwrap(binding.serialFail(handle, task, block, error));
}

/** A narrower measurement of the block that runs begins. */
export function serialProfileStart(handle: number): void {
	unwrap(binding.serialProfileStart(handle));
}

/** The innermost measurement ends; the first to end counts. */
export function serialProfileEnd(handle: number): void {
	unwrap(binding.serialProfileEnd(handle));
}

/** The counters of all tasks. */
export function serialStates(handle: number): NativeTaskState[] {
	return unwrap(binding.serialStates(handle));
}

/** Writes and closes the stores, and tells how the run went. */
export async function serialEnd(
	handle: number,
	outcome: NativeRunResult['outcome'],
): Promise<NativeRunResult> {
	live.delete(handle);
	return unwrap(await binding.serialEnd(handle, outcome));
}

function name(handle: number, task: number, block: number): void {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = block;
}

function checked(result: number): number {
	if (result === FAILED) throw hotError();
	return result;
}
