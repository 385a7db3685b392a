/**
 * What users and their programs say (names, paths, messages, stacks) as it can be shown. Whatever would move the cursor,
 * begin an escape code or turn the order of letters around is shown as `\x1b` or `\u202e`, and so can't do it.
 */

/** Control characters but line breaks and tabs, and those that turn the direction of writing or break lines. */
const acting =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	/[\x00-\x08\x0B-\x1F\x7F-\x9F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

const shortNames: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/** A text of several lines, such as a stack. */
export function plainText(text: string): string {
	return text.replaceAll('\r\n', '\n').replace(acting, shown);
}

/** A name or a path: one line, with its line breaks shown as well. */
export function plainName(text: string): string {
	return text.replace(acting, shown).replace(/[\n\t]/g, shown);
}

/** A message in one line of at most `longest` characters: its line breaks become blanks. */
export function plainLine(text: string, longest = 5_000): string {
	const line = plainText(text.trim()).replace(/\s*\n\s*/g, ' ');
	return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** As JSON has it: the same value with every character that acts as an escape of JSON. */
export function plainJson(json: string): string {
	return json.replace(acting, (character) => `\\u${hexOf(character).padStart(4, '0')}`);
}

function shown(character: string): string {
	const hex = hexOf(character);
	return shortNames[character] ?? (hex.length > 2 ? `\\u${hex}` : `\\x${hex}`);
}

const hexOf = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0');
