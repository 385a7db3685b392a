import stringWidth from 'string-width';

/**
 * Items behind a head, in as many lines as the width asks for; further lines are indented as far as the head is wide.
 *
 * @param separator between items of a line, such as `, `; what of it isn't blank stays at the end of a broken line
 */
export function flow(
	head: string,
	items: readonly string[],
	separator: string,
	columns: number,
): string[] {
	const width = stringWidth(head);
	// Under a long name on a narrow terminal the rest would be pushed out of sight.
	const indent = ' '.repeat(width <= columns / 2 ? width : 6);
	// What stays at the end of a broken line needs its room, too.
	const tail = separator.trimEnd().length;
	const lines: string[] = [];
	let line = '';
	for (const item of items) {
		const longer = line === '' ? head + item : line + separator + item;
		if (line === '' || stringWidth(longer) + tail <= columns) {
			line = longer;
			continue;
		}
		lines.push((line + separator).trimEnd());
		line = indent + item;
	}
	return line === '' ? lines : [...lines, line];
}

/** Pads a text with blanks to a width in columns, which wide characters take two of. */
export function padColumns(text: string, width: number): string {
	return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}
