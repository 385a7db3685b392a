import { types } from 'node:util';
import type { Counts, ProgressObserver } from './observer.js';

/** What happens in a run, in order. Times are seconds since the UNIX epoch. */
export type RunEvent =
	/** The run has begun. */
	| { readonly type: 'start'; readonly time: number; readonly states: Counts }
	/** Counts have changed: at most ten times a second. */
	| { readonly type: 'progress'; readonly time: number; readonly states: Counts }
	/** A worker was started or submitted. */
	| {
			readonly type: 'workerStarted';
			readonly time: number;
			readonly taskId: string;
			readonly workerId: number;
	  }
	/** A worker has ended. */
	| {
			readonly type: 'workerExited';
			readonly time: number;
			readonly taskId: string;
			readonly workerId: number;
			/** The exit in words. */
			readonly reason: string;
			readonly clean: boolean;
	  }
	/** An attempt at a block failed; `permanent` when no attempt is left. At a bounded rate: counts are in `states`. */
	| {
			readonly type: 'failure';
			readonly time: number;
			readonly taskId: string;
			/** Null when no block was to blame. */
			readonly blockId: string | null;
			readonly attempt: number;
			readonly permanent: boolean;
			readonly message: string;
	  }
	/** Something worth a line. */
	| {
			readonly type: 'notice';
			readonly time: number;
			readonly level: 'info' | 'warning';
			/** Stable name of the kind of notice, such as `resumed`, `waiting`, `no-blocks`, `half-budget`, `stopping`. */
			readonly code: string;
			/** Null when it concerns no single task. */
			readonly taskId: string | null;
			readonly message: string;
	  }
	/** The run has ended, for whatever reason. */
	| { readonly type: 'finish'; readonly time: number; readonly states: Counts };

/** Tells a `RunEvents` that its run is over, also one that never began; nothing for other observers. */
export let endReading: (observer: unknown) => void;

/** Most events that wait for a slow reader; older progress events are dropped first, since newer ones contain them. */
const longestQueue = 1_000;

/**
 * A run's events as an `AsyncIterable`: pass it as `progress` and read it beside the run.
 *
 * ```ts
 * const events = new RunEvents();
 * const run = runBlockwise(task, { progress: events });
 * for await (const event of events) console.log(event.type);
 * await run;
 * ```
 *
 * A reader that falls behind loses progress events, never others unless it is 1,000 behind; it ends with `finish`.
 */
export class RunEvents implements ProgressObserver, AsyncIterable<RunEvent> {
	#queue: RunEvent[] = [];
	#wake: (() => void) | null = null;
	#finished = false;

	/** Called by the run. */
	onEvent(event: RunEvent): void {
		if (event.type === 'progress') {
			// The newest progress says all that an unread one does.
			this.#queue = this.#queue.filter(({ type }) => type !== 'progress');
		}
		this.#queue.push(event);
		if (this.#queue.length > longestQueue) this.#queue.shift();
		this.#finished = event.type === 'finish';
		this.#wake?.();
	}

	/** Ends the reading where no event will come any more. */
	static {
		endReading = (observer) => {
			if (!(typeof observer === 'object' && observer !== null && #queue in observer)) return;
			observer.#finished = true;
			observer.#wake?.();
		};
	}

	/** Gives each event once, to one reader, until the run ends. */
	async *[Symbol.asyncIterator](): AsyncIterator<RunEvent> {
		for (;;) {
			const event = this.#queue.shift();
			if (event) {
				yield event;
				if (event.type === 'finish') return;
			} else if (this.#finished) {
				return;
			} else {
				await new Promise<void>((resolve) => {
					this.#wake = resolve;
				});
				this.#wake = null;
			}
		}
	}
}

/** Hands an event to an observer, by its own method and by `onEvent`; an error of the observer is swallowed. */
export function deliver(observer: ProgressObserver, event: RunEvent): void {
	harmlessly(() => observer.onEvent?.(event));
	harmlessly(() => {
		if (event.type === 'start') return observer.onStart?.(event.states);
		if (event.type === 'progress') return observer.onProgress?.(event.states);
		if (event.type === 'finish') return observer.onFinish?.(event.states);
	});
}

/** An observer's errors never hurt the run, also not those of its async methods. */
function harmlessly(call: () => unknown): void {
	try {
		const given = call();
		if (types.isPromise(given)) given.catch(() => {});
	} catch {
		// As said.
	}
}
