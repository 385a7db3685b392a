import type { Block } from './block.js';

/** Starts and ends a narrowed measurement of the block that runs. */
export interface BlockProfiler {
	start(): void;
	end(): void;
}

const profilers = new WeakMap<Block, BlockProfiler>();

/**
 * Measures `fn` instead of the whole block function: time, processor, memory and I/O of the block are those
 * of `fn`, so that set-up around it doesn't count. Where calls are nested or there are several, the one
 * that ends first counts. Without `resourceTracking` it only calls `fn`.
 *
 * @returns what `fn` returns; a promise is measured until it settles
 */
export function profileBlock<T>(block: Block, fn: () => T): T {
	const profiler = profilers.get(block);
	if (!profiler) return fn();
	profiler.start();
	let result: T;
	try {
		result = fn();
	} catch (error) {
		profiler.end();
		throw error;
	}
	if (!isPromise(result)) {
		profiler.end();
		return result;
	}
	return result.finally(() => profiler.end()) as T;
}

/** @internal Says who measures a block. */
export function setProfiler(block: Block, profiler: BlockProfiler): void {
	profilers.set(block, profiler);
}

function isPromise(value: unknown): value is Promise<unknown> {
	return value instanceof Promise;
}
