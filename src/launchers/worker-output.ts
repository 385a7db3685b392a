import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { WorkerLogs } from './launcher.js';
import { makeFolder } from './make-folder.js';

/** Longest piece of stderr that travels in an error: lines and bytes. */
const TAIL_LINES = 50;
const TAIL_BYTES = 8192;

/** One stream of a worker: a file that the worker writes and the driver may read. */
export interface OutputFile {
	/** Descriptor, opened for appending and reading. */
	readonly fd: number;
	/** Where this worker's own output starts in the file. */
	readonly start: number;
}

/** The streams of one worker; `out` is null where nobody wants it. */
export interface WorkerOutput {
	out: OutputFile | null;
	readonly err: OutputFile;
}

/**
 * Opens the files that a worker's stdout and stderr go to, in append mode and after a header that
 * tells runs apart. A stream without a log file goes to a nameless temporary file, so that the
 * worker never waits for a reader and its last words are there when it dies.
 *
 * @param header first line for log files; temporary files get none
 */
export function openOutput(logs: WorkerLogs, header: string): WorkerOutput {
	const wantsOut = logs.out !== null || logs.console !== 'none';
	const out = wantsOut ? open(logs.out, header) : null;
	try {
		return { out, err: open(logs.err, header) };
	} catch (error) {
		if (out) closeSync(out.fd);
		throw error;
	}
}

function open(path: string | null, header: string): OutputFile {
	if (path === null) return { fd: openNameless(), start: 0 };
	makeFolder(dirname(path));
	const fd = openSync(path, 'a+');
	try {
		writeSync(fd, `${header}\n`);
		return { fd, start: fstatSync(fd).size };
	} catch (error) {
		closeSync(fd);
		throw error;
	}
}

function openNameless(): number {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-'));
	try {
		return openSync(join(folder, 'output'), 'ax+', 0o600);
	} finally {
		// the descriptor stays valid; nothing is left behind whatever happens to this process
		rmSync(folder, { recursive: true, force: true });
	}
}

/** The last lines of a stream, after `start`, capped in lines and bytes. */
export function lastLines(fd: number, start: number): string {
	const size = fstatSync(fd).size;
	const from = Math.max(start, size - TAIL_BYTES);
	const bytes = Buffer.alloc(Math.max(0, size - from));
	const length = readSync(fd, bytes, 0, bytes.length, from);
	const lines = bytes.toString('utf8', 0, length).trimEnd().split('\n');
	// the first line was probably cut in the middle
	if (from > start && lines.length > 1) lines.shift();
	const cut = from > start || lines.length > TAIL_LINES;
	const text = lines.slice(-TAIL_LINES).join('\n');
	return cut ? `… (earlier lines left out)\n${text}` : text;
}
