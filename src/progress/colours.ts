import picocolors from 'picocolors';

/** Colours by what they say, each a function from text to text. */
export type StatePaint = Readonly<
	Record<'done' | 'failed' | 'unfinished' | 'running', (text: string) => string>
>;

/** The colours of the states of tasks and blocks. */
export function statePaint(colour: boolean): StatePaint {
	const { green, red, yellow, cyan } = picocolors.createColors(colour);
	return { done: green, failed: red, unfinished: yellow, running: cyan };
}

/** Colours the symbol of a task's state; other texts stay as they are. */
export function symbolPaint(colour: boolean): (symbol: string) => string {
	const { done, failed, unfinished, running } = statePaint(colour);
	const paints: Record<string, (text: string) => string> = {
		'✔': done,
		'✗': failed,
		'∅': unfinished,
		'…': unfinished,
		'▶': running,
	};
	return (symbol) => paints[symbol]?.(symbol) ?? symbol;
}

/** Whether a stream shows colours: on a terminal, unless `NO_COLOR` says otherwise. */
export function showsColours(
	stream: { readonly isTTY?: boolean },
	env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
	return stream.isTTY === true && env.TERM !== 'dumb' && !env.NO_COLOR;
}
