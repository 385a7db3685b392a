/** Dependency graph and scheduler as the addon offers them; blocks are row-major indices. */
import { type BellisError, ValidationError } from './errors.js';
import {
	ARGUMENTS,
	BATCH,
	binding,
	FAILED,
	hotError,
	type NativeScheduledTask,
	type NativeTaskDescription,
	type NativeTaskSpec,
	shared,
	unwrap,
} from './native.js';

/** Pairs of positions of tasks: upstream, downstream. */
export type NativeEdges = [number, number][];

/** Checks a task's regions and describes its blocks. */
export function describeTask(spec: NativeTaskSpec): NativeTaskDescription {
	return unwrap(binding.describeTask(spec));
}

export function graphNew(specs: NativeTaskSpec[], edges: NativeEdges): number {
	return unwrap(binding.graphNew(specs, edges));
}

export function graphFree(handle: number): void {
	binding.graphFree(handle);
}

export function graphCount(handle: number, task: number): bigint {
	return unwrap(binding.graphCount(handle, task));
}

export function graphRootCount(handle: number, task: number): bigint {
	return unwrap(binding.graphRootCount(handle, task));
}

export function graphLevelCount(handle: number, task: number): number {
	return unwrap(binding.graphLevelCount(handle, task));
}

export function graphLevel(handle: number, task: number, block: number): number {
	return unwrap(binding.graphLevel(handle, task, block));
}

/** Up to `count` blocks in the order of hand-out, behind `after`; fewer mean that the end was reached. */
export function graphBlocks(
	handle: number,
	task: number,
	after: number | null,
	count: number,
): Float64Array {
	return unwrap(binding.graphBlocks(handle, task, after, count));
}

/** Pairs of task and block that a block waits for. */
export function graphUpstream(handle: number, task: number, block: number): Float64Array {
	return unwrap(binding.graphUpstream(handle, task, block));
}

/** Pairs of task and block that wait for a block. */
export function graphDownstream(handle: number, task: number, block: number): Float64Array {
	return unwrap(binding.graphDownstream(handle, task, block));
}

/** @throws UncoveredError for a block that reads nothing of what an upstream task writes */
export function graphCheckCovered(handle: number): void {
	unwrap(binding.graphCheckCovered(handle));
}

/** Positions of the tasks in the order in which they are shown. */
export function graphDisplayOrder(handle: number): number[] {
	return unwrap(binding.graphDisplayOrder(handle));
}

/** Opens the stores; refuses uncovered pipelines and tasks of more than 2^53 blocks. */
export function schedulerNew(tasks: NativeScheduledTask[], edges: NativeEdges): number {
	return unwrap(binding.schedulerNew(tasks, edges));
}

/** In place of the handle of a scheduler that was dropped, whose own may be another one's by now. */
export const DROPPED = 0xffff_ffff;

/** Drops a scheduler without waiting for the disk. */
export function schedulerFree(handle: number): void {
	binding.schedulerFree(handle);
}

/** Writes the stores to the disk and drops a scheduler. */
export function schedulerClose(handle: number): void {
	unwrap(binding.schedulerClose(handle));
}

/** Why the call with this handle failed. */
function failure(handle: number): BellisError {
	const error = hotError();
	if (handle !== DROPPED) return error;
	const message = 'the scheduler was disposed of: make a new one';
	return new ValidationError(message, { path: 'scheduler', value: undefined });
}

/** The index of the block handed out; -1 when none is ready. */
export function schedulerAcquire(handle: number, task: number): number {
	shared[0] = handle;
	shared[1] = task;
	const block = binding.schedulerAcquire();
	if (block === FAILED) throw failure(handle);
	return block;
}

export function schedulerRelease(handle: number, task: number, block: number): void {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = block;
	if (binding.schedulerRelease() === FAILED) throw failure(handle);
}

/** A failed attempt; true when it was the last one. */
export function schedulerFail(handle: number, task: number, block: number): boolean {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = block;
	const outcome = binding.schedulerFail();
	if (outcome === FAILED) throw failure(handle);
	return outcome === 1;
}

/** A block that was handed out turned out to be done: it counts as skipped. */
export function schedulerSkip(handle: number, task: number, block: number): void {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = block;
	if (binding.schedulerSkip() === FAILED) throw failure(handle);
}

/** A block that was handed out turned out not to be done: what an earlier run marked is taken back. */
export function schedulerTakeBack(handle: number, task: number, block: number): void {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = block;
	if (binding.schedulerTakeBack() === FAILED) throw failure(handle);
}

/** Up to `count` blocks, and at most {@link BATCH}. */
export function schedulerAcquireBatch(handle: number, task: number, count: number): Float64Array {
	shared[0] = handle;
	shared[1] = task;
	shared[2] = count;
	const found = binding.schedulerAcquireBatch();
	if (found === FAILED) throw failure(handle);
	return shared.slice(ARGUMENTS, ARGUMENTS + found);
}

/**
 * Gives blocks back, and calls `onFailed` for each that failed with its place and whether that was its
 * last attempt. Of each {@link BATCH} blocks, all or none.
 */
export function schedulerReleaseBatch(
	handle: number,
	task: number,
	blocks: Float64Array,
	failed: Uint8Array | undefined,
	onFailed: (place: number, permanent: boolean) => void,
): void {
	for (let start = 0; start < blocks.length; start += BATCH) {
		const part = blocks.subarray(start, start + BATCH);
		shared.set(part, ARGUMENTS);
		if (failed !== undefined) {
			for (let i = 0; i < part.length; i++) {
				// what is negative without that was never an index
				if (part[i]! < 0) shared[ARGUMENTS + i] = Number.NaN;
				else if (failed[start + i] !== 0) shared[ARGUMENTS + i] = -1 - part[i]!;
			}
		}
		shared[0] = handle;
		shared[1] = task;
		shared[2] = part.length;
		shared[3] = failed === undefined ? 0 : 1;
		if (binding.schedulerReleaseBatch() === FAILED) throw failure(handle);
		if (failed === undefined) continue;
		const outcomes = shared.slice(ARGUMENTS, ARGUMENTS + part.length);
		for (let i = 0; i < part.length; i++) {
			if (failed[start + i] !== 0) onFailed(start + i, outcomes[i] === 1);
		}
	}
}

/** What became of a task's blocks. */
export interface Counters {
	total: number;
	ready: number;
	pending: number;
	processing: number;
	completed: number;
	skipped: number;
	failed: number;
	orphaned: number;
}

export function schedulerCounters(handle: number, task: number): Counters {
	shared[0] = handle;
	shared[1] = task;
	if (binding.schedulerCounters() === FAILED) throw failure(handle);
	return {
		total: shared[2]!,
		ready: shared[3]!,
		pending: shared[4]!,
		processing: shared[5]!,
		completed: shared[6]!,
		skipped: shared[7]!,
		failed: shared[8]!,
		orphaned: shared[9]!,
	};
}
