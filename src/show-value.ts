import { inspect } from 'node:util';

/** A refused value in a few characters, safe for any value that a user may hand in. */
export function showValue(value: unknown): string {
	if (typeof value === 'bigint') return `${value}n`;
	try {
		const text = inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
		return text.length > 120 ? `${text.slice(0, 117)}...` : text;
	} catch {
		return `a value of type ${typeof value}`;
	}
}
