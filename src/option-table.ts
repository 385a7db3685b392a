import { ValidationError } from './errors.js';
import { nearestName } from './nearest-name.js';
import { showValue } from './show-value.js';

/** Checks a given value, and gives what the rest of the program works with. */
export type Check<T> = (value: unknown, path: string) => T;

/** One option: how a given value is checked, and what stands for one that isn't given. */
export interface OptionRow<T> {
	readonly check: Check<T>;
	readonly fallback?: () => T;
	readonly required?: boolean;
}

/** An option with a default; `undefined` counts as not given. */
export function option<T>(check: Check<T>, fallback: T): OptionRow<T> {
	return { check, fallback: () => fallback };
}

/** An option that may be left out and has no default. */
export function optional<T>(check: Check<T>): OptionRow<T | undefined> {
	return { check, fallback: () => undefined };
}

/** An option that must be given. */
export function required<T>(check: Check<T>): OptionRow<T> {
	return { check, required: true };
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds rows of any type
export type OptionTable = Readonly<Record<string, OptionRow<any>>>;

/** The checked options of a table. */
export type Resolved<Table extends OptionTable> = {
	readonly [Name in keyof Table]: Table[Name] extends OptionRow<infer T> ? T : never;
};

/** How a set of options is called in messages, and what people write instead of its names. */
export interface OptionNames {
	/** Such as `task option`. */
	readonly what: string;
	/** Other words for known names. */
	readonly synonyms?: Readonly<Record<string, string>>;
	/** What to say about names that need more than another name. */
	readonly hints?: Readonly<Record<string, string>>;
	/** Put before each name in a path, such as `tasks[2].`. */
	readonly prefix?: string;
}

/** Checks an object of options against its table. Unknown names are refused with the nearest known. */
export function readOptions<Table extends OptionTable>(
	given: unknown,
	table: Table,
	names: OptionNames,
): Resolved<Table> {
	const prefix = names.prefix ?? '';
	if (typeof given !== 'object' || given === null || Array.isArray(given)) {
		const path = prefix.replace(/\.$/, '') || 'options';
		throw new ValidationError(`${path} must be an object with options, not ${showValue(given)}`, {
			path,
			value: given,
		});
	}
	const values = given as Record<string, unknown>;
	for (const name of Object.keys(values)) {
		if (!Object.hasOwn(table, name)) throw unknownOption(name, values[name], table, names);
	}
	const resolved: Record<string, unknown> = {};
	for (const [name, row] of Object.entries(table)) {
		const value = values[name];
		if (value !== undefined) {
			resolved[name] = row.check(value, prefix + name);
		} else if (row.required) {
			throw new ValidationError(`${prefix}${name} is missing`, { path: prefix + name, value });
		} else {
			resolved[name] = row.fallback?.();
		}
	}
	return resolved as Resolved<Table>;
}

function unknownOption(
	name: string,
	value: unknown,
	table: OptionTable,
	names: OptionNames,
): ValidationError {
	const path = (names.prefix ?? '') + name;
	const hint =
		names.hints !== undefined && Object.hasOwn(names.hints, name) ? names.hints[name] : undefined;
	const nearest = nearestName(name, Object.keys(table), names.synonyms);
	const advice =
		hint ??
		(nearest !== null
			? `did you mean ${nearest}?`
			: `known are ${Object.keys(table).sort().join(', ')}`);
	return new ValidationError(`${path} is no ${names.what}: ${advice}`, { path, value });
}
