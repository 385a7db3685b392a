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
	// Under a long name on a narrow terminal the rest would be pushed out of sight, and so would a long item.
	const longest = Math.max(0, ...items.map((item) => stringWidth(item)));
	const fits = width <= columns / 2 && width + longest <= columns;
	const indent = ' '.repeat(fits ? width : Math.min(width, 6));
	// What stays at the end of a broken line needs its room, too.
	const tail = separator.trimEnd().length;
	const [first, ...rest] = items;
	if (first === undefined) return [];
	const lines: string[] = [];
	let line = head + first;
	if (stringWidth(line) > columns && indent.length < width) {
		// The head stands alone; one of blanks only isn't missed.
		if (head.trim()) lines.push(head.trimEnd());
		line = indent + first;
	}
	for (const item of rest) {
		const longer = line + separator + item;
		if (stringWidth(longer) + tail <= columns) {
			line = longer;
			continue;
		}
		lines.push((line + separator).trimEnd());
		line = indent + item;
	}
	return [...lines, line];
}

/** A sentence behind blanks, in as many lines as the width asks for. Words, and so paths without blanks, stay whole. */
export function flowWords(indent: string, text: string, columns: number): string[] {
	return flow(indent, text.split(' '), ' ', columns);
}

/** Pads a text with blanks to a width in columns, which wide characters take two of. */
export function padColumns(text: string, width: number): string {
	return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}
