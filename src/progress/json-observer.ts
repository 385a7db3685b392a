import { closeSync, openSync, writeSync } from 'node:fs';
import { ValidationError } from '../errors.js';
import { type TextSink, writeLeniently } from '../lenient-write.js';
import { clock, filePath, textSink } from '../option-checks.js';
import { optional, type Resolved, readOptions } from '../option-table.js';
import { type Counts, entriesOf, type ProgressObserver } from './observer.js';

/** Where the lines go: a file, or a stream; by default stdout. */
export interface JsonProgressOptions {
	/** A file to write (overwritten), closed when the run ends. */
	readonly path?: string | URL | undefined;
	/** Anything with `write`; not closed. */
	readonly stream?: TextSink | undefined;
	/** Seconds since the UNIX epoch; for tests. */
	readonly now?: (() => number) | undefined;
}

const OPTIONS = {
	path: optional(filePath),
	stream: optional(textSink),
	now: optional(clock),
};

/**
 * Writes one JSON line per task and event, with daisy's field names: `t`, `event` (`start`, `progress`, `finish`), `task`,
 * `total`, `ready`, `processing`, `completed`, `skipped`, `failed`, `orphaned`, `restarts`, `failures` (workers that failed).
 *
 * @throws ValidationError when both `path` and `stream` are given, for a path that can't be written and for unknown options.
 */
export class JsonProgressObserver implements ProgressObserver {
	readonly #options: Resolved<typeof OPTIONS>;
	readonly #now: () => number;
	#file: number | null = null;

	constructor(given: JsonProgressOptions = {}) {
		const options = readOptions(given, OPTIONS, { what: 'option of JsonProgressObserver' });
		if (options.path !== undefined && options.stream !== undefined) {
			throw new ValidationError('give JsonProgressObserver a path or a stream, not both', {
				path: 'path',
				value: options.path,
			});
		}
		this.#options = options;
		// At once: a run swallows what its observers throw, and a wrong path would go unnoticed.
		if (options.path !== undefined) this.#file = openFile(options.path);
		this.#now = options.now ?? (() => Date.now() / 1000);
	}

	/** Whether lines go to stdout, so that a summary must not. */
	get writesToStdout(): boolean {
		const { path, stream } = this.#options;
		return path === undefined && (stream === undefined || stream === process.stdout);
	}

	onStart(states: Counts): void {
		if (this.#options.path !== undefined) this.#file ??= openFile(this.#options.path);
		this.#write('start', states);
	}

	onProgress(states: Counts): void {
		this.#write('progress', states);
	}

	onFinish(states: Counts): void {
		this.#write('finish', states);
		if (this.#file !== null) closeSync(this.#file);
		this.#file = null;
	}

	#write(event: string, states: Counts): void {
		const t = this.#now();
		const lines = entriesOf(states).map(([task, state]) =>
			JSON.stringify({
				t,
				event,
				task,
				total: state.total,
				ready: state.ready,
				processing: state.processing,
				completed: state.completed,
				skipped: state.skipped,
				failed: state.failed,
				orphaned: state.orphaned,
				restarts: state.workerRestarts,
				failures: state.workerFailures,
			}),
		);
		const text = lines.map((line) => `${line}\n`).join('');
		// Written at once, so that a line is in the file when the next event comes.
		if (this.#file !== null) writeSync(this.#file, text);
		else if (this.#options.path === undefined) {
			writeLeniently(this.#options.stream ?? process.stdout, text);
		}
	}
}

function openFile(path: string): number {
	try {
		return openSync(path, 'w');
	} catch (cause) {
		const { message } = cause as Error;
		throw new ValidationError(`JsonProgressObserver can't write ${path}: ${message}`, {
			path: 'path',
			value: path,
			cause,
		});
	}
}
