import { fstat, read } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

const POLL_MS = 50;
const CHUNK_BYTES = 64 * 1024;

/** Where followed lines go. */
export type LineSink = (text: string) => void;

/**
 * Follows a file that a worker writes and passes on its complete lines. A worker writes to a file and
 * never to a pipe, so however slow the console is, it doesn't wait.
 */
export class OutputTail {
	readonly #fd: number;
	readonly #sink: LineSink;
	readonly #prefix: string;
	readonly #decoder = new StringDecoder('utf8');
	readonly #chunk = Buffer.alloc(CHUNK_BYTES);
	readonly #timer: NodeJS.Timeout;
	#position: number;
	#rest = '';
	#reading: Promise<void> = Promise.resolve();

	/**
	 * @param fd    stays the caller's; must live until `finish` has settled
	 * @param start where to begin in the file
	 * @param prefix put before each line
	 */
	constructor(fd: number, start: number, prefix: string, sink: LineSink) {
		this.#fd = fd;
		this.#position = start;
		this.#prefix = prefix;
		this.#sink = sink;
		let busy = false;
		this.#timer = setInterval(() => {
			if (busy) return;
			busy = true;
			this.#reading = this.#drain().finally(() => {
				busy = false;
			});
		}, POLL_MS);
	}

	/** Passes on what is left, an unfinished last line too, and stops. */
	async finish(): Promise<void> {
		clearInterval(this.#timer);
		await this.#reading;
		await this.#drain();
		const rest = this.#rest + this.#decoder.end();
		if (rest) this.#sink(`${this.#prefix}${rest}\n`);
		this.#rest = '';
	}

	async #drain(): Promise<void> {
		const end = await sizeOf(this.#fd);
		while (this.#position < end) {
			const length = await readAt(this.#fd, this.#chunk, this.#position);
			if (length === 0) return;
			this.#position += length;
			this.#pass(this.#decoder.write(this.#chunk.subarray(0, length)));
		}
	}

	#pass(text: string): void {
		const lines = (this.#rest + text).split('\n');
		this.#rest = lines.pop()!;
		if (lines.length > 0) {
			this.#sink(lines.map((line) => `${this.#prefix}${line}\n`).join(''));
		}
	}
}

function sizeOf(fd: number): Promise<number> {
	return new Promise((resolve) => {
		fstat(fd, (error, stats) => resolve(error ? 0 : stats.size));
	});
}

function readAt(fd: number, into: Buffer, position: number): Promise<number> {
	return new Promise((resolve) => {
		read(fd, into, 0, into.length, position, (error, length) => resolve(error ? 0 : length));
	});
}
