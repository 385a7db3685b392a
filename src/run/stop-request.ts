import type { StopSignal } from './signals.js';

/** Two signals within this time are one: a terminal and a wrapper pass on the same Ctrl-C. */
const SAME_MS = 1000;

/** How far a run has been asked to stop. */
export type StopStage = 'none' | 'stop' | 'kill';

/**
 * Collects what asks a run to stop: signals and an `AbortSignal`. The first asks it to end in order; a
 * signal more than a second later asks it to end at once.
 */
export class StopRequest {
	/** The first signal that came; null when none did. */
	signal: StopSignal | null = null;
	/** Whether an `AbortSignal` asked first. */
	aborted = false;
	#stage: StopStage = 'none';
	#since = 0;
	readonly #now: () => number;

	/** @param now monotonic milliseconds */
	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	get stage(): StopStage {
		return this.#stage;
	}

	/** Takes note of a signal. Returns the stage that it led to; null when it changed nothing. */
	onSignal(signal: StopSignal): StopStage | null {
		if (this.#stage === 'none') {
			this.signal = signal;
			return this.#enter('stop');
		}
		if (this.#stage === 'kill' || this.#now() - this.#since < SAME_MS) return null;
		return this.#enter('kill');
	}

	/** Takes note of an abort. Returns the stage that it led to; null when it changed nothing. */
	onAbort(): StopStage | null {
		if (this.#stage !== 'none') return null;
		this.aborted = true;
		return this.#enter('stop');
	}

	#enter(stage: StopStage): StopStage {
		this.#stage = stage;
		this.#since = this.#now();
		return stage;
	}
}
