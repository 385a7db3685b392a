import { ended, progressSymbol, remaining } from './bar-line.js';
import type { RunEvent } from './events.js';
import { noticeLine } from './notice-line.js';
import type { Counts, ProgressObserver, TaskCounts } from './observer.js';
import { clock, perSecond, Rate } from './rate.js';

/** A task's next line comes after another twentieth of its blocks. */
const step = 0.05;
/** Least seconds between two lines of a task. */
const shortest = 2;
/** Most seconds without any line. */
const longest = 29;

/** Progress where there is no terminal: a plain line every so often, without escape codes. */
export class LinesObserver implements ProgressObserver {
	readonly #stream: { write(text: string): unknown };
	readonly #now: () => number;
	readonly #last = new Map<string, { time: number; share: number; done: boolean; rate: Rate }>();
	#started = 0;
	#lastLine = 0;

	/**
	 * @param stream where lines go
	 * @param now seconds; for tests
	 */
	constructor(
		stream: { write(text: string): unknown },
		now: () => number = () => performance.now() / 1000,
	) {
		this.#stream = stream;
		this.#now = now;
	}

	onStart(states: Counts): void {
		this.#started = this.#now();
		this.#lastLine = this.#started;
		for (const taskId of Object.keys(states)) {
			this.#last.set(taskId, { time: this.#started, share: 0, done: false, rate: new Rate() });
		}
	}

	onProgress(states: Counts): void {
		this.#show(states, false);
	}

	onFinish(states: Counts): void {
		this.#show(states, true);
	}

	onEvent(event: RunEvent): void {
		const line = noticeLine(event);
		if (line !== null) this.#stream.write(`${line}\n`);
	}

	#show(states: Counts, last: boolean): void {
		const now = this.#now();
		let quiet = now - this.#lastLine >= longest;
		for (const [taskId, counts] of Object.entries(states)) {
			const seen = this.#last.get(taskId);
			if (!seen || seen.done) continue;
			seen.rate.add(now, counts.completed - counts.skipped + counts.failed);
			const share = counts.total > 0 ? ended(counts) / counts.total : 1;
			const moved = share - seen.share >= step && now - seen.time >= shortest;
			const done = counts.done || counts.abandoned;
			const wanted = moved || done || (last && counts.started) || (quiet && counts.started);
			if (!wanted) continue;
			quiet = false;
			this.#lastLine = now;
			Object.assign(seen, { time: now, share, done });
			this.#stream.write(`${this.#line(taskId, counts, seen.rate.perSecond, now)}\n`);
		}
	}

	#line(taskId: string, counts: TaskCounts, rate: number, now: number): string {
		const elapsed = now - this.#started;
		const left = remaining({ taskId, counts, rate, elapsed });
		const parts = [
			`${ended(counts)}/${counts.total} blocks`,
			`${clock(elapsed)} elapsed`,
			...(counts.done ? [] : [`${clock(left)} left`]),
			perSecond(rate),
			`${counts.processing} processing`,
			...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
			...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
			...(counts.orphaned > 0 ? [`${counts.orphaned} orphaned`] : []),
			...(counts.workerRestarts > 0 ? [`${counts.workerRestarts} worker restarts`] : []),
		];
		return `bellis ${taskId} ${progressSymbol(counts)} ${parts.join(', ')}`;
	}
}
