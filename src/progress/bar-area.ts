import { MultiBar } from 'cli-progress';
import { interceptWrites } from './intercept-writes.js';

/** Redraws a second. */
const redrawsPerSecond = 5;
/** Least milliseconds between two redraws that are made for text. */
const shortestGap = 100;

/** Clears what is below, lets the text wrap as it would without bars, and takes wrapping away again for the bars. */
const aboveBars = (text: string) => `\x1B[J\x1B[?7h${text}\x1B[?7l`;

/** What the lowest lines of a terminal show. */
export interface BarLines {
	/** How many lines there would be if there were room. */
	readonly count: number;
	/** The line of a slot when `slots` are drawn, narrower than the terminal. */
	line(slot: number, slots: number): string;
}

/**
 * The lowest lines of a terminal, redrawn a few times a second; whatever else the program writes to the terminal is kept
 * above them. The terminal is given back at `close`, and also when the process exits before that.
 */
export class BarArea {
	readonly #terminal: NodeJS.WriteStream;
	readonly #lines: BarLines;
	readonly #intercepted: ReturnType<typeof interceptWrites>;
	readonly #onResize = () => this.#fit();
	readonly #onExit = () => this.close();
	#bars: MultiBar;
	#slots = 0;
	/** Text that the next redraw puts above the bars. */
	#pending = '';
	#lastText = Number.NEGATIVE_INFINITY;
	#closed = false;

	constructor(terminal: NodeJS.WriteStream, lines: BarLines) {
		this.#terminal = terminal;
		this.#lines = lines;
		this.#intercepted = interceptWrites(terminal, (text) => this.print(text));
		this.#bars = this.#draw();
		terminal.on('resize', this.#onResize);
		process.on('exit', this.#onExit);
	}

	/** Puts text above the bars: at once, or with the next redraw where texts follow each other closely. */
	print(text: string): void {
		this.#pending += text.endsWith('\n') ? text : `${text}\n`;
		const now = performance.now();
		if (now - this.#lastText < shortestGap) return;
		this.#lastText = now;
		this.#bars.update();
	}

	/** Writes every line once more, also those there was no room for, and gives the terminal back. */
	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#terminal.off('resize', this.#onResize);
		process.off('exit', this.#onExit);
		// Stopping takes the bars away, and would leave out the text that waits.
		this.#bars.update();
		this.#bars.stop();
		const { count } = this.#lines;
		for (let slot = 0; slot < count; slot++) {
			this.#intercepted.stream.write(`${this.#lines.line(slot, count)}\n`);
		}
		this.#intercepted.release();
	}

	/** Draws as many lines as there is room for. */
	#draw(): MultiBar {
		const slots = this.#room();
		const bars = new MultiBar({
			// Not the terminal itself: what the bars write must not be taken for the program's.
			stream: this.#intercepted.stream,
			fps: redrawsPerSecond,
			hideCursor: true,
			linewrap: false,
			gracefulExit: false,
			forceRedraw: true,
			clearOnComplete: true,
			format: (_options, _params, payload: { slot: number }) =>
				this.#lines.line(payload.slot, slots),
		});
		bars.on('update-pre', () => {
			if (this.#pending) bars.log(aboveBars(this.#pending));
			this.#pending = '';
		});
		for (let slot = 0; slot < slots; slot++) bars.create(1, 0, { slot });
		bars.update();
		this.#slots = slots;
		return bars;
	}

	/** Follows a change of the terminal's size. */
	#fit(): void {
		if (this.#room() === this.#slots) {
			this.#bars.update();
			return;
		}
		// The bars can't lose or gain a line in place.
		this.#bars.stop();
		this.#bars = this.#draw();
	}

	/** How many lines there is room for: two rows stay for what the program prints. */
	#room(): number {
		const rows = this.#terminal.rows || 24;
		return Math.min(this.#lines.count, Math.max(1, rows - 2));
	}
}
