import picocolors from 'picocolors';

/** Colours the symbol of a task's state; other texts stay as they are. */
export function symbolPaint(colour: boolean): (symbol: string) => string {
	const { green, red, yellow, cyan } = picocolors.createColors(colour);
	const paints: Record<string, (text: string) => string> = {
		'✔': green,
		'✗': red,
		'∅': yellow,
		'…': yellow,
		'▶': cyan,
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
