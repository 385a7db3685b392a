import { writeLeniently } from '../lenient-write.js';
import { boolean, clock, textSink } from '../option-checks.js';
import { option, readOptions } from '../option-table.js';
import { BarArea } from './bar-area.js';
import { barLine, progressSymbol } from './bar-line.js';
import { symbolPaint } from './colours.js';
import type { RunEvent } from './events.js';
import { NoticeLines } from './notice-line.js';
import { type Counts, entriesOf, type ProgressObserver, type TaskCounts } from './observer.js';
import { Rate } from './rate.js';

/** How bars are drawn. */
export interface BarsOptions {
	/** Whether the symbols have colours. Default true. */
	readonly colour?: boolean | undefined;
	/** Seconds on a monotonic clock; for tests. */
	readonly now?: (() => number) | undefined;
}

const monotonicSeconds = () => performance.now() / 1000;

const OPTIONS = {
	colour: option(boolean, true),
	now: option(clock, monotonicSeconds),
};

/**
 * One bar a task on a terminal, in display order, redrawn a few times a second; other output on the same terminal is kept
 * above them. Where there are more tasks than rows, unfinished ones are shown first and the rest is counted.
 */
export class BarsObserver implements ProgressObserver {
	readonly #terminal: NodeJS.WriteStream;
	readonly #now: () => number;
	readonly #paint: (symbol: string) => string;
	readonly #rates = new Map<string, Rate>();
	readonly #notices = new NoticeLines();
	#area: BarArea | null = null;
	#states: Counts = {};
	#started = 0;
	#runIsOver = false;

	/**
	 * @param terminal the stream to draw on
	 * @throws ValidationError for no stream or an unknown option: a run would swallow it
	 */
	constructor(terminal: NodeJS.WriteStream, options: BarsOptions = {}) {
		textSink(terminal, 'terminal');
		const { colour, now } = readOptions(options, OPTIONS, { what: 'option of BarsObserver' });
		this.#terminal = terminal;
		this.#now = now;
		this.#paint = symbolPaint(colour);
	}

	onStart(states: Counts): void {
		this.#started = this.#now();
		this.#take(states);
		this.#area = new BarArea(this.#terminal, {
			count: Object.keys(states).length,
			line: (slot, slots) => this.#line(slot, slots),
		});
	}

	onProgress(states: Counts): void {
		this.#take(states);
	}

	onFinish(states: Counts): void {
		this.#runIsOver = true;
		this.#take(states);
		this.#area?.close();
		this.#area = null;
	}

	onEvent(event: RunEvent): void {
		const line = this.#notices.lineOf(event);
		if (line === null) return;
		if (this.#area) this.#area.print(line);
		else writeLeniently(this.#terminal, `${line}\n`);
	}

	#take(states: Counts): void {
		this.#states = states;
		const now = this.#now();
		for (const [taskId, counts] of Object.entries(states)) {
			const rate = this.#rates.get(taskId) ?? new Rate();
			this.#rates.set(taskId, rate);
			if (!counts.started) rate.begin(now);
			// Skips cost next to nothing: a rate with them in would promise too much for the rest.
			rate.add(now, counts.completed - counts.skipped + counts.failed);
		}
	}

	#line(slot: number, slots: number): string {
		const tasks = entriesOf(this.#states);
		const columns = this.#terminal.columns || 80;
		if (tasks.length > slots && slot === slots - 1) {
			const hidden = tasks.length - slots + 1;
			return `… and ${hidden} more task${hidden === 1 ? '' : 's'}`.slice(0, columns - 1);
		}
		const [taskId, counts] = shownFirst(tasks, slots)[slot] ?? [];
		if (taskId === undefined || counts === undefined) return '';
		const rate = this.#rates.get(taskId)?.at(this.#now()) ?? 0;
		const elapsed = this.#now() - this.#started;
		const runIsOver = this.#runIsOver;
		const line = barLine({ taskId, counts, rate, elapsed, runIsOver }, columns);
		const symbol = progressSymbol(counts, runIsOver);
		return line.replace(` ${symbol} ♻`, ` ${this.#paint(symbol)} ♻`);
	}
}

/** In display order where there is room for all, else with those that have ended last. */
function shownFirst(tasks: [string, TaskCounts][], slots: number): [string, TaskCounts][] {
	if (tasks.length <= slots) return tasks;
	const over = ({ done, abandoned }: TaskCounts) => done || abandoned;
	return [
		...tasks.filter(([, counts]) => !over(counts)),
		...tasks.filter(([, counts]) => over(counts)),
	];
}
