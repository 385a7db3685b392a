/** Tracking stores as the addon offers them: by path, with a task's geometry where one is known. */
import {
	binding,
	type NativeFailedCells,
	type NativeStoredBlock,
	type NativeStoreStatus,
	type NativeTaskSpec,
	unwrap,
} from './native.js';

/** Counts of a store; null when there is none. */
export async function storeStatus(
	path: string,
	spec: NativeTaskSpec | null,
): Promise<NativeStoreStatus | null> {
	return unwrap(await binding.storeStatus(path, spec));
}

/** Blocks that are done and that a mask, a byte for each block, leaves alone; null when there is no store. */
export async function storeDoneUnmasked(
	path: string,
	spec: NativeTaskSpec,
	mask: Uint8Array,
): Promise<number | null> {
	return unwrap(await binding.storeDoneUnmasked(path, spec, mask));
}

/** Blocks that failed and are not done; null when there is no store. */
export async function storeFailedCells(
	path: string,
	spec: NativeTaskSpec | null,
): Promise<NativeFailedCells | null> {
	return unwrap(await binding.storeFailedCells(path, spec));
}

/** What a store has for a row-major cell; null when there is no store. */
export async function storeBlock(
	path: string,
	spec: NativeTaskSpec | null,
	cell: number,
): Promise<NativeStoredBlock | null> {
	return unwrap(await binding.storeBlock(path, spec, cell));
}

/** The lines of a store's `runs.jsonl`, oldest first; null when there is no store. */
export async function storeRuns(
	path: string,
	spec: NativeTaskSpec | null,
): Promise<string[] | null> {
	return unwrap(await binding.storeRuns(path, spec));
}

/** Removes a store; false when there was none. */
export async function storeReset(path: string): Promise<boolean> {
	return unwrap(await binding.storeReset(path));
}

/** Forgets the failed attempts of blocks that are not done; how many blocks that were. */
export async function storeResetFailed(path: string): Promise<number> {
	return unwrap(await binding.storeResetFailed(path));
}

/** The lines of `runs.jsonl` in any directory, oldest first; none where there is no such file. */
export async function runsRead(directory: string): Promise<string[]> {
	return unwrap(await binding.runsRead(directory));
}

/** Appends a line to `runs.jsonl` in a directory, which must exist. */
export async function runsAppend(directory: string, line: string): Promise<void> {
	unwrap(await binding.runsAppend(directory, line));
}
