/** Seconds over which a rate is averaged: long enough to be steady, short enough to follow a change. */
const window = 30;

/** Blocks per second over the last half minute, from counts at given times. */
export class Rate {
	#samples: { time: number; count: number }[] = [];

	/** Adds a count at a time in seconds. */
	add(time: number, count: number): void {
		this.#samples.push({ time, count });
		// One sample older than the window stays, so that a slow task keeps a rate.
		while (this.#samples.length > 2 && (this.#samples[1]?.time ?? time) < time - window) {
			this.#samples.shift();
		}
	}

	/** Blocks per second; 0 while nothing is known. */
	get perSecond(): number {
		const first = this.#samples[0];
		const last = this.#samples.at(-1);
		if (!first || !last || last.time <= first.time) return 0;
		return Math.max(0, (last.count - first.count) / (last.time - first.time));
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

/** A rate with as many digits as say something: `7.97 block/s`, `12400 block/s`. */
export function perSecond(rate: number): string {
	if (rate <= 0) return '? block/s';
	return `${rate >= 100 ? rate.toFixed(0) : rate.toFixed(2)} block/s`;
}
