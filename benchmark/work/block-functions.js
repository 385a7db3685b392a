// What the benchmarks' workers run: as little as can be, or a known amount of CPU or waiting.

/** Does nothing. */
export function nothing() {}

/** Does nothing, asynchronously. */
export async function nothingAsync() {}

/** Spins for one millisecond of CPU. */
export function spinOneMs() {
	const end = performance.now() + 1;
	while (performance.now() < end);
}

/** Waits for 100 ms without using the CPU. */
export function wait100Ms() {
	return new Promise((resolve) => setTimeout(resolve, 100));
}
