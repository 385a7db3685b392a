import type { Distribution } from './run-report.js';

/** The distribution of a list of samples. */
export function distributionOf(samples: Iterable<number>): Distribution {
	let count = 0;
	let mean = 0;
	let squares = 0;
	let sum = 0;
	// Welford's update: no loss of digits when the mean is large against the spread.
	for (const sample of samples) {
		count++;
		sum += sample;
		const distance = sample - mean;
		mean += distance / count;
		squares += distance * (sample - mean);
	}
	return {
		count,
		mean: count > 0 ? mean : Number.NaN,
		std: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
		sum,
	};
}

/** The distribution of all samples of several distributions together. */
export function mergeDistributions(parts: Iterable<Distribution>): Distribution {
	let count = 0;
	let mean = 0;
	let squares = 0;
	let sum = 0;
	for (const part of parts) {
		if (part.count === 0) continue;
		const total = count + part.count;
		const distance = part.mean - mean;
		const own = part.count > 1 ? part.std * part.std * (part.count - 1) : 0;
		squares += own + (distance * distance * count * part.count) / total;
		mean += (distance * part.count) / total;
		count = total;
		sum += part.sum;
	}
	return {
		count,
		mean: count > 0 ? mean : Number.NaN,
		std: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
		sum,
	};
}
