// Lines of a terminal as a picture.

const lineHeight = 18;
const characterWidth = 8.4;
const margin = 16;

/** The eight colours of a terminal that are used, readable on the dark ground. */
const colours = { 1: '#ff7b72', 2: '#7ee787', 3: '#e3b341', 6: '#79c0ff' };

const escaped = (text) =>
	text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * @param {{ characters: string, colour: number | null }[][]} lines
 * @param {string} title read aloud in place of the picture
 */
export function screenAsSvg(lines, title) {
	const widest = Math.max(
		...lines.map((line) => line.reduce((sum, { characters }) => sum + characters.length, 0)),
	);
	const width = Math.ceil(widest * characterWidth + 2 * margin);
	const height = lines.length * lineHeight + 2 * margin;
	const rows = lines.map((line, row) => {
		const y = margin + row * lineHeight + 13;
		let column = 0;
		const spans = line.flatMap(({ characters, colour }) => {
			const start = column;
			column += characters.length;
			const fill = colours[colour] ? ` fill="${colours[colour]}"` : '';
			// Each column of a table has its own place, so that they line up in any font.
			return [...characters.matchAll(/\S+(?: \S+)*/g)].map(({ 0: words, index }) => {
				const x = (margin + (start + index) * characterWidth).toFixed(1);
				const length = (words.length * characterWidth).toFixed(1);
				return `<text x="${x}" y="${y}" textLength="${length}"${fill}>${escaped(words)}</text>`;
			});
		});
		return spans.join('');
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g fill="#c9d1d9" font-family="'DejaVu Sans Mono', Menlo, Consolas, ui-monospace, monospace" font-size="14" xml:space="preserve">
${rows.filter((row) => row !== '').join('\n')}
</g>
</svg>
`;
}
