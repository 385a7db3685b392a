import { formatDuration } from '../report/quantity.js';

/** Seconds over which a rate is averaged: long enough to be steady, short enough to follow a change. */
const window = 30;
/** Changes that a rate is averaged over where they take longer than that: a task of slow blocks has a rate, too. */
const leastChanges = 10;

/** Blocks per second over the last half minute, or the last few blocks, from counts at given times. */
export class Rate {
	/** When it began, and each change of the count since. */
	readonly #samples: { time: number; count: number }[] = [];

	/** Sets when the counting begins, as long as nothing has been counted. */
	begin(time: number): void {
		if (this.#samples.length <= 1) this.#samples[0] = { time, count: 0 };
	}

	/** Adds a count at a time in seconds. */
	add(time: number, count: number): void {
		const samples = this.#samples;
		if (samples.length > 0 && samples.at(-1)?.count === count) return;
		samples.push({ time, count });
		// One sample older than the window stays.
		while (samples.length > leastChanges + 1 && (samples[1]?.time ?? time) < time - window) {
			samples.shift();
		}
	}

	/** Blocks per second at a time; 0 while nothing is known. In a silence longer than usual it falls. */
	at(time: number): number {
		const first = this.#samples[0];
		const last = this.#samples.at(-1);
		if (!first || !last || last.time <= first.time) return 0;
		const usualGap = (last.time - first.time) / (this.#samples.length - 1);
		const end = Math.max(last.time, time - usualGap);
		return Math.max(0, (last.count - first.count) / (end - first.time));
	}
}

/** `mm:ss`, or `h:mm:ss` from an hour on; `?` when unknown. */
export function clock(seconds: number): string {
	if (!Number.isFinite(seconds) || seconds < 0) return '?';
	const whole = Math.round(seconds);
	const two = (value: number) => String(value).padStart(2, '0');
	const hours = Math.floor(whole / 3600);
	const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
	return hours > 0 ? `${hours}:${rest}` : rest;
}

/** A rate with as many digits as say something: `7.97 block/s`, `12400 block/s`; a low one as `5.0 min/block`. */
export function perSecond(rate: number): string {
	if (rate <= 0) return '? block/s';
	if (rate < 0.1) return `${formatDuration(1 / rate)}/block`;
	return `${rate >= 100 ? rate.toFixed(0) : rate.toFixed(2)} block/s`;
}
