import { StringDecoder } from 'node:string_decoder';
import { writeLeniently } from '../lenient-write.js';

type Writable = NodeJS.WriteStream;

/** Longest text without a line's end that is held back, in characters. */
const longestPartial = 65_536;

/**
 * Takes over `write` of a terminal, and of stdout or stderr where they are terminals too, so that what the user's program
 * prints can be put above the bars. Text is handed on in whole lines; what is left of a line is written at the release.
 *
 * @returns a stream that writes to the terminal itself, and how to give the streams back
 */
export function interceptWrites(
	terminal: Writable,
	onLines: (text: string) => void,
): { stream: NodeJS.WritableStream; release: () => void } {
	const streams = new Set([terminal, process.stdout, process.stderr].filter(({ isTTY }) => isTTY));
	streams.add(terminal);
	const releases = [...streams].map((stream) => interceptOne(stream, onLines));
	const raw = releases[[...streams].indexOf(terminal)]?.write ?? terminal.write;
	const open = {
		write: raw.bind(terminal),
		once: terminal.once.bind(terminal),
		off: terminal.off.bind(terminal),
		listenerCount: terminal.listenerCount.bind(terminal),
	};
	const stream = new Proxy(terminal, {
		get(target, property) {
			// A terminal may be gone as a pipe may.
			if (property === 'write') return (text: string) => writeLeniently(open, text);
			const value = Reflect.get(target, property, target);
			return typeof value === 'function' ? value.bind(target) : value;
		},
	});
	return {
		stream,
		release() {
			const rests = releases.map(({ release }) => release());
			for (const [i, given] of [...streams].entries()) {
				const rest = rests[i];
				if (rest) given.write(rest);
			}
		},
	};
}

/** Takes over one stream's `write`; the release gives it back and returns what is left of a line. */
function interceptOne(stream: Writable, onLines: (text: string) => void) {
	const write = stream.write;
	const own = Object.hasOwn(stream, 'write');
	// A character may come in two parts.
	const decoder = new StringDecoder('utf8');
	let partial = '';
	stream.write = ((chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
		partial += typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk));
		const end = partial.length > longestPartial ? partial.length : partial.lastIndexOf('\n') + 1;
		if (end > 0) {
			const text = partial.slice(0, end);
			partial = partial.slice(end);
			onLines(text);
		}
		const callback = typeof encoding === 'function' ? encoding : done;
		if (typeof callback === 'function') process.nextTick(callback as () => void);
		return true;
	}) as Writable['write'];
	return {
		write,
		release() {
			if (own) stream.write = write;
			else Reflect.deleteProperty(stream, 'write');
			return partial + decoder.end();
		},
	};
}
