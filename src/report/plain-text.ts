import { stripVTControlCharacters } from 'node:util';

/** A text of the user's as it can be shown: without escape codes and other characters that move the cursor. */
export function plainText(text: string): string {
	const lines = stripVTControlCharacters(text).replaceAll('\r\n', '\n');
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
	return lines.replace(/[\x00-\x08\x0B-\x1F\x7F-\x9F]/g, '');
}
