import { plainJson, plainText } from '../report/plain-text.js';

/** Streams whose reader has gone, such as the one of `bellis plan … | head -1`. */
const closed = new Set<NodeJS.WriteStream>();

/** Why output was lost that somebody wanted, such as on a full disk; the first reason. */
let lost: string | null = null;

/** Makes a closed pipe or a full disk end the output and not the program: a run of hours goes on. */
export function surviveLostOutput(): void {
	for (const [name, stream] of [
		['stdout', process.stdout],
		['stderr', process.stderr],
	] as const) {
		stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
			closed.add(stream);
			// who closes a pipe has seen enough
			if (code !== 'EPIPE' && code !== 'ERR_STREAM_DESTROYED') {
				lost ??= `output to ${name} was lost: ${message}`;
			}
		});
	}
}

/** Says that output was lost, where it was and can be said; true if it was. */
export function reportLostOutput(): boolean {
	if (lost !== null) printError(`error: ${lost}`);
	return lost !== null;
}

/** Writes lines to stdout. What names and paths in them would do to a terminal is shown and not done. */
export function print(lines: readonly string[]): void {
	printAsItIs(plainText(lines.join('\n')));
}

/** Writes a text to stdout whose colours are ours and whose names have been made plain. */
export function printAsItIs(text: string): void {
	if (!closed.has(process.stdout)) process.stdout.write(`${text}\n`);
}

/** Writes a value to stdout as JSON, indented. */
export function printJson(value: unknown): void {
	printAsItIs(plainJson(JSON.stringify(value, null, 2)));
}

/** Writes what went wrong to stderr. */
export function printError(text: string): void {
	if (!closed.has(process.stderr)) process.stderr.write(`${plainText(text)}\n`);
}

/** Resolves when everything written so far is on its way, or has nowhere to go. */
export async function outputWritten(): Promise<void> {
	for (const stream of [process.stdout, process.stderr]) {
		if (closed.has(stream)) continue;
		await new Promise<void>((resolve) => {
			stream.once('error', () => resolve());
			stream.write('', () => resolve());
		});
	}
}
