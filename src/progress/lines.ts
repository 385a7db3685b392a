import { type TextSink, writeLeniently } from '../lenient-write.js';
import { textSink } from '../option-checks.js';
import { plainName } from '../report/plain-text.js';
import { counted } from '../report/quantity.js';
import { type BarLine, ended, progressSymbol, remaining } from './bar-line.js';
import type { RunEvent } from './events.js';
import { NoticeLines } from './notice-line.js';
import { type Counts, entriesOf, type ProgressObserver } from './observer.js';
import { clock, perSecond, Rate } from './rate.js';

/** A task's next line comes after another twentieth of its blocks, */
const step = 0.05;
/** or more where there are many tasks: the lines of all of them are about so many. */
const mostLines = 120;
/** Least seconds between two lines of a task. */
const shortest = 2;
/** Most seconds without any line. */
const longest = 29;
/** Milliseconds between two looks at the clock: a run in which nothing happens has nothing to report. */
const look = 500;

/** Calls a function again and again until told to stop. */
export type Repeat = (milliseconds: number, call: () => void) => () => void;

const repeatOnTimer: Repeat = (milliseconds, call) => {
	const timer = setInterval(call, milliseconds).unref();
	return () => clearInterval(timer);
};

/** Progress where there is no terminal: a plain line every so often, without escape codes. */
export class LinesObserver implements ProgressObserver {
	readonly #stream: TextSink;
	readonly #now: () => number;
	readonly #repeat: Repeat;
	readonly #notices = new NoticeLines();
	readonly #last = new Map<string, { time: number; share: number; done: boolean; rate: Rate }>();
	#started = 0;
	#lastLine = 0;
	#states: Counts = {};
	#stop = () => {};

	/**
	 * @param stream where lines go
	 * @param now seconds; for tests
	 * @param repeat for tests
	 * @throws ValidationError for no stream: a run would swallow it
	 */
	constructor(
		stream: TextSink,
		now: () => number = () => performance.now() / 1000,
		repeat: Repeat = repeatOnTimer,
	) {
		this.#stream = textSink(stream, 'stream');
		this.#now = now;
		this.#repeat = repeat;
	}

	onStart(states: Counts): void {
		this.#started = this.#now();
		this.#lastLine = this.#started;
		for (const taskId of Object.keys(states)) {
			const rate = new Rate();
			rate.begin(this.#started);
			this.#last.set(taskId, { time: this.#started, share: 0, done: false, rate });
		}
		this.#states = states;
		this.#stop = this.#repeat(look, () => this.#show(this.#states, false));
	}

	onProgress(states: Counts): void {
		this.#show(states, false);
	}

	onFinish(states: Counts): void {
		this.#stop();
		this.#show(states, true);
	}

	onEvent(event: RunEvent): void {
		const line = this.#notices.lineOf(event);
		if (line !== null) writeLeniently(this.#stream, `${line}\n`);
	}

	#show(states: Counts, last: boolean): void {
		this.#states = states;
		const now = this.#now();
		const elapsed = now - this.#started;
		let quiet = now - this.#lastLine >= longest;
		const leastStep = Math.max(step, Object.keys(states).length / mostLines);
		const anyStarted = Object.values(states).some(({ started, done }) => started && !done);
		for (const [taskId, counts] of entriesOf(states)) {
			const seen = this.#last.get(taskId);
			if (!seen || seen.done) continue;
			if (!counts.started) seen.rate.begin(now);
			seen.rate.add(now, counts.completed - counts.skipped + counts.failed);
			const share = counts.total > 0 ? ended(counts) / counts.total : 1;
			const moved = share - seen.share >= leastStep && now - seen.time >= shortest;
			const done = counts.done || counts.abandoned;
			const wanted =
				moved || done || (last && counts.started) || (quiet && (counts.started || !anyStarted));
			if (!wanted) continue;
			quiet = false;
			this.#lastLine = now;
			Object.assign(seen, { time: now, share, done });
			writeLeniently(
				this.#stream,
				`${this.#line({ taskId, counts, rate: seen.rate.at(now), elapsed, runIsOver: last })}\n`,
			);
		}
	}

	#line(line: BarLine): string {
		const { taskId, counts, rate, elapsed, runIsOver } = line;
		const over = counts.done || counts.abandoned || runIsOver;
		const parts = [
			`${ended(counts)}/${counted(counts.total, 'block')}`,
			`${clock(elapsed)} elapsed`,
			...(over ? [] : [`${clock(remaining(line))} left`]),
			// A task that only skipped never had one.
			...(over && rate <= 0 ? [] : [perSecond(rate)]),
			`${counts.processing} processing`,
			...(counts.skipped > 0 ? [`${counts.skipped} skipped`] : []),
			...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
			...(counts.orphaned > 0 ? [`${counts.orphaned} orphaned`] : []),
			...(counts.workerRestarts > 0 ? [counted(counts.workerRestarts, 'worker restart')] : []),
		];
		return `bellis ${plainName(taskId)} ${progressSymbol(counts, runIsOver)} ${parts.join(', ')}`;
	}
}
