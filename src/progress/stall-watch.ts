import { ended } from './bar-line.js';
import { type WaitingState, waitingText } from './waiting.js';

/** Longest gap between two lines of one silence, in seconds. */
const longestGap = 600;

/** When a silence is worth a line. */
export interface StallWatchOptions {
	/** Seconds without an ended block before the first line. Default 10. */
	readonly afterSeconds?: number;
	/** Seconds on a monotonic clock; for tests. */
	readonly now?: () => number;
}

/**
 * Notices that nothing has finished for a while, and says what is waited for: once after ten seconds, then after twice
 * as long each time. Where blocks take long as a rule, a silence is one that lasts twice as long as any before it.
 */
export class StallWatch {
	readonly #after: number;
	readonly #now: () => number;
	#ended = -1;
	/** When the last block ended. */
	#since = 0;
	/** Silence at which the next line is due. */
	#due = 0;
	#longestSilence = 0;

	constructor({ afterSeconds = 10, now = monotonicSeconds }: StallWatchOptions = {}) {
		this.#after = afterSeconds;
		this.#now = now;
	}

	/**
	 * Takes in what the run knows; to be called several times a second, also while nothing changes.
	 *
	 * @returns the line to show now, or null
	 */
	update(state: WaitingState): string | null {
		const now = this.#now();
		const total = state.tasks.reduce((sum, { counts }) => sum + ended(counts), 0);
		if (total !== this.#ended) {
			const silence = this.#ended < 0 ? 0 : now - this.#since;
			this.#longestSilence = Math.max(this.#longestSilence, silence);
			this.#ended = total;
			this.#since = now;
			this.#due = Math.max(this.#after, 2 * this.#longestSilence);
			return null;
		}
		const silence = now - this.#since;
		if (silence < this.#due) return null;
		this.#due += Math.min(longestGap, this.#due);
		return waitingText(state, silence);
	}
}

const monotonicSeconds = () => performance.now() / 1000;
