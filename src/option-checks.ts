import { fileURLToPath } from 'node:url';
import { ValidationError } from './errors.js';
import type { TextSink } from './lenient-write.js';
import type { Check } from './option-table.js';
import { showValue } from './show-value.js';

/** The error for a value that isn't what `wanted` says. */
export function refusal(path: string, wanted: string, value: unknown): ValidationError {
	return new ValidationError(`${path} must be ${wanted}, not ${showValue(value)}`, { path, value });
}

export const boolean: Check<boolean> = (value, path) => {
	if (typeof value !== 'boolean') throw refusal(path, 'true or false', value);
	return value;
};

/** An integer between two bounds, both included. */
export function integer(min: number, max: number = 2 ** 32 - 1): Check<number> {
	return (value, path) => {
		if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
			throw refusal(path, `an integer from ${min} to ${max}`, value);
		}
		return value + 0;
	};
}

/** A duration in milliseconds; `min` is excluded for a time that must pass, included for a pause. */
export function milliseconds(kind: 'positive' | 'zero-or-more'): Check<number> {
	return (value, path) => {
		if (value === Number.POSITIVE_INFINITY) {
			throw new ValidationError(
				`${path} can't be Infinity; for a time without end pass Number.MAX_SAFE_INTEGER`,
				{ path, value },
			);
		}
		const number = typeof value === 'number' ? value : Number.NaN;
		const enough = kind === 'positive' ? number > 0 : number >= 0;
		if (!enough || number > Number.MAX_SAFE_INTEGER) {
			const bound = kind === 'positive' ? 'more than 0' : '0 or more';
			throw refusal(
				path,
				`a number of milliseconds, ${bound} and at most Number.MAX_SAFE_INTEGER`,
				value,
			);
		}
		return number + 0;
	};
}

/** One of some words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Check<Word> {
	const list = words.map((word) => `'${word}'`);
	const wanted = `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`;
	return (value, path) => {
		if (!words.includes(value as Word)) throw refusal(path, wanted, value);
		return value as Word;
	};
}

/** A path of the file system as text or `file:` URL. */
export const filePath: Check<string> = (value, path) => {
	const text = value instanceof URL && value.protocol === 'file:' ? fileOf(value, path) : value;
	if (typeof text !== 'string' || text === '' || text.includes('\0')) {
		throw refusal(path, 'a path', value);
	}
	return text;
};

function fileOf(url: URL, path: string): string {
	try {
		return fileURLToPath(url);
	} catch {
		throw refusal(path, 'a path or a file: URL of this machine', url.href);
	}
}

/** A function. */
// biome-ignore lint/complexity/noBannedTypes: any function will do here
export const anyFunction: Check<Function> = (value, path) => {
	if (typeof value !== 'function') throw refusal(path, 'a function', value);
	return value;
};

/** A function that gives the time in seconds. */
export const clock: Check<() => number> = (value, path) => anyFunction(value, path) as () => number;

/** Something with a method `write`, such as a stream. */
export const textSink: Check<TextSink> = (value, path) => {
	const { write } = (value ?? {}) as Partial<TextSink>;
	if (typeof write !== 'function') throw refusal(path, 'a stream, or anything with write', value);
	return value as TextSink;
};

/** A list of strings. */
export const strings: Check<readonly string[]> = (value, path) => {
	if (!Array.isArray(value)) throw refusal(path, 'an array of strings', value);
	for (const [i, entry] of value.entries()) {
		if (typeof entry !== 'string') throw refusal(`${path}[${i}]`, 'a string', entry);
	}
	return Object.freeze([...value]);
};

/** An object whose own values all pass a check; frozen and copied. */
export function recordOf<T>(check: Check<T>, wanted: string): Check<Readonly<Record<string, T>>> {
	return (value, path) => {
		if (typeof value !== 'object' || value === null || Array.isArray(value)) {
			throw refusal(path, wanted, value);
		}
		const entries = Object.entries(value).map(
			([name, entry]) => [name, check(entry, `${path}.${name}`)] as const,
		);
		return Object.freeze(Object.fromEntries(entries));
	};
}

/** Amounts of named resources: integers, zero or more. */
export const resourceAmounts = recordOf(
	integer(0, Number.MAX_SAFE_INTEGER),
	'an object of amounts by name, such as { gpu: 1 }',
);
