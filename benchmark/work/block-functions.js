// What the benchmarks' workers run: as little as can be, or a known amount of CPU or waiting.

/** Does nothing. */
export function nothing() {}

/** Does nothing, asynchronously. */
export async function nothingAsync() {}

/** Spins for one millisecond of CPU. */
export function spinOneMs() {
	spin(1);
}

/** Spins for a tenth of a millisecond of CPU. */
export function spin100Us() {
	spin(0.1);
}

function spin(ms) {
	const end = performance.now() + ms;
	while (performance.now() < end);
}

/** Waits for 100 ms without using the CPU. */
export function wait100Ms() {
	return new Promise((resolve) => setTimeout(resolve, 100));
}
