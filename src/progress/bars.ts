import { MultiBar } from 'cli-progress';
import { barLine } from './bar-line.js';
import type { RunEvent } from './events.js';
import { interceptWrites } from './intercept-writes.js';
import { noticeLine } from './notice-line.js';
import type { Counts, ProgressObserver } from './observer.js';
import { Rate } from './rate.js';

/** Redraws a second. */
const redraws = 5;

/** A terminal that bars are drawn on. */
export interface Terminal {
	readonly isTTY?: boolean;
	readonly columns?: number;
	readonly rows?: number;
	write(text: string): unknown;
}

/** One bar a task on a terminal, in display order; other output on the same terminal is kept above them. */
export class BarsObserver implements ProgressObserver {
	readonly #terminal: Terminal & NodeJS.WriteStream;
	readonly #now: () => number;
	readonly #rates = new Map<string, Rate>();
	#multi: MultiBar | null = null;
	#release: (() => void) | null = null;
	#states: Counts = {};
	#started = 0;

	/**
	 * @param terminal the stream to draw on
	 * @param now seconds; for tests
	 */
	constructor(terminal: NodeJS.WriteStream, now: () => number = () => performance.now() / 1000) {
		this.#terminal = terminal;
		this.#now = now;
	}

	onStart(states: Counts): void {
		this.#started = this.#now();
		this.#take(states);
		const raw = interceptWrites(this.#terminal, (text) => this.#above(text));
		this.#release = raw.release;
		this.#multi = new MultiBar({
			// Writes of ours must not be taken for the user's.
			stream: raw.stream,
			fps: redraws,
			hideCursor: true,
			linewrap: false,
			gracefulExit: false,
			forceRedraw: true,
			format: (_options, _params, payload: { slot: number }) => this.#line(payload.slot),
		});
		const slots = Math.min(
			Object.keys(states).length,
			Math.max(1, (this.#terminal.rows ?? 24) - 2),
		);
		for (let slot = 0; slot < slots; slot++) this.#multi.create(1, 0, { slot });
	}

	onProgress(states: Counts): void {
		this.#take(states);
	}

	onFinish(states: Counts): void {
		this.#take(states);
		// The last picture stays on the screen.
		this.#multi?.update();
		this.#multi?.stop();
		this.#multi = null;
		this.#release?.();
		this.#release = null;
	}

	onEvent(event: RunEvent): void {
		const line = noticeLine(event);
		if (line === null) return;
		if (this.#multi) this.#above(`${line}\n`);
		else this.#terminal.write(`${line}\n`);
	}

	/** Puts text above the bars at the next redraw, which is now. */
	#above(text: string): void {
		this.#multi?.log(text.endsWith('\n') ? text : `${text}\n`);
		this.#multi?.update();
	}

	#take(states: Counts): void {
		this.#states = states;
		const now = this.#now();
		for (const [taskId, counts] of Object.entries(states)) {
			const rate = this.#rates.get(taskId) ?? new Rate();
			this.#rates.set(taskId, rate);
			// Skips cost next to nothing: a rate with them in would promise too much for the rest.
			rate.add(now, counts.completed - counts.skipped + counts.failed);
		}
	}

	/** The line of a slot: tasks in display order, finished ones leaving first when there are more tasks than rows. */
	#line(slot: number): string {
		const tasks = Object.entries(this.#states);
		const slots = this.#slots;
		const shown =
			tasks.length <= slots
				? tasks
				: [
						...tasks.filter(([, counts]) => !counts.done),
						...tasks.filter(([, counts]) => counts.done),
					];
		const columns = this.#terminal.columns ?? 80;
		if (tasks.length > slots && slot === slots - 1) {
			return `… and ${tasks.length - slots + 1} more tasks`.slice(0, columns - 1);
		}
		const [taskId, counts] = shown[slot] ?? [];
		if (taskId === undefined || counts === undefined) return '';
		const rate = this.#rates.get(taskId)?.perSecond ?? 0;
		return barLine({ taskId, counts, rate, elapsed: this.#now() - this.#started }, columns);
	}

	get #slots(): number {
		return Math.max(1, (this.#terminal.rows ?? 24) - 2);
	}
}
