import type { Distribution } from './run-report.js';

/** What stands where there are no samples. */
export const noSamples = '—';

/** Units of time, smallest first, each with its seconds and how many of it make the next. */
const timeUnits: readonly { unit: string; seconds: number; limit: number }[] = [
	{ unit: 'µs', seconds: 1e-6, limit: 1000 },
	{ unit: 'ms', seconds: 1e-3, limit: 1000 },
	{ unit: 's', seconds: 1, limit: 60 },
	{ unit: 'min', seconds: 60, limit: 60 },
	{ unit: 'h', seconds: 3600, limit: Number.POSITIVE_INFINITY },
];

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/**
 * A duration with one decimal in the largest unit that it fills, such as `349.4 ms`; the smallest unit is µs.
 * A value that would round up to the next unit (999.96 ms) is given in that one.
 */
export function formatDuration(seconds: number): string {
	if (!Number.isFinite(seconds)) return noSamples;
	for (const { unit, seconds: size, limit } of timeUnits) {
		const value = (seconds / size).toFixed(1);
		if (Number(value) < limit) return `${value} ${unit}`;
	}
	return noSamples;
}

/** A size in steps of 1024 with one decimal, such as `20.6 MB`. */
export function formatBytes(bytes: number): string {
	if (!Number.isFinite(bytes)) return noSamples;
	let value = bytes;
	let unit = 0;
	while (Number(value.toFixed(1)) >= 1024 && unit < byteUnits.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${value.toFixed(1)} ${byteUnits[unit]}`;
}

/** `mean ± std`; the mean alone for one sample; a dash for none. */
export function formatDistribution(
	distribution: Distribution,
	format: (value: number) => string = formatDuration,
): string {
	if (distribution.count === 0 || !Number.isFinite(distribution.mean)) return noSamples;
	const mean = format(distribution.mean);
	return distribution.count === 1 || !Number.isFinite(distribution.std)
		? mean
		: `${mean} ± ${format(distribution.std)}`;
}

/** A count with its noun, such as `1 block`, `16 blocks`. */
export function counted(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How long something has been going on, in whole units: `42 s`, `3 min`, `5 h`. */
export function roughDuration(seconds: number): string {
	if (!Number.isFinite(seconds) || seconds < 0) return noSamples;
	if (seconds < 119.5) return `${Math.round(seconds)} s`;
	if (seconds < 7170) return `${Math.round(seconds / 60)} min`;
	return `${Math.round(seconds / 3600)} h`;
}
