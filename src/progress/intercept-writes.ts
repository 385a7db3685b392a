/** Streams that are being listened to: a terminal usually carries both stdout and stderr. */
type Writable = NodeJS.WriteStream;

/**
 * Takes over `write` of a terminal, and of stdout or stderr where they are terminals too, so that what the user's program
 * prints can be put above the bars. Text is handed on in whole lines; what is left of a line is handed on at the release.
 *
 * @returns a stream that writes to the terminal itself, and how to give the streams back
 */
export function interceptWrites(
	terminal: Writable,
	onText: (text: string) => void,
): { stream: NodeJS.WritableStream; release: () => void } {
	const streams = new Set([terminal, process.stdout, process.stderr].filter(({ isTTY }) => isTTY));
	streams.add(terminal);
	const originals = new Map<Writable, Writable['write']>();
	let partial = '';
	for (const stream of streams) {
		originals.set(stream, stream.write);
		stream.write = ((chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
			partial += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
			const end = partial.lastIndexOf('\n') + 1;
			if (end > 0) {
				const text = partial.slice(0, end);
				partial = partial.slice(end);
				onText(text);
			}
			const callback = typeof encoding === 'function' ? encoding : done;
			if (typeof callback === 'function') callback();
			return true;
		}) as Writable['write'];
	}
	const raw = originals.get(terminal) ?? terminal.write;
	const stream = new Proxy(terminal, {
		get(target, property) {
			if (property === 'write') return raw.bind(target);
			const value = Reflect.get(target, property, target);
			return typeof value === 'function' ? value.bind(target) : value;
		},
	});
	return {
		stream,
		release() {
			for (const [given, write] of originals) given.write = write;
			if (partial) terminal.write(partial);
			partial = '';
		},
	};
}
