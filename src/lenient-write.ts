/** Anything that text is written to. */
export interface TextSink {
	write(text: string): unknown;
}

/**
 * Writes to a stream whose reader may have gone, such as stdout in `node main.mjs | head -1`: what nobody reads is lost,
 * and the program goes on, as with `console.log`. Listeners to the stream's errors still hear of it.
 */
export function writeLeniently(sink: TextSink, text: string): void {
	if (!isStream(sink)) {
		sink.write(text);
		return;
	}
	// A stream without a listener throws its error where nobody can catch it. An error comes with the write or after it.
	sink.once('error', ignore);
	sink.write(text, (error) => {
		if (error && sink.listenerCount('error') === 0) sink.once('error', ignore);
	});
	sink.off('error', ignore);
}

function isStream(sink: TextSink): sink is NodeJS.WriteStream {
	const { once, off, listenerCount } = sink as Partial<NodeJS.WriteStream>;
	return [once, off, listenerCount].every((method) => typeof method === 'function');
}

function ignore(): void {}
