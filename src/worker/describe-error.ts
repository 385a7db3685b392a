import { inspect, types } from 'node:util';
import type { ErrorDetails, ErrorReport, NestedError } from '../error-report.js';

const NAME_LENGTH = 200;
const MESSAGE_LENGTH = 8192;
const STACK_LINES = 50;
const STACK_LENGTH = 8192;
const DETAILS_LENGTH = 16_384;
const FIELD_LENGTH = 500;
const FIELDS = 20;
const AGGREGATED = 10;
const DEPTH = 8;

const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Folder of bellis's own compiled code: its frames tell a user nothing. */
const OWN_FRAMES = new URL('../', import.meta.url).href;

/**
 * Describes anything thrown: errors, causes, aggregates, strings, null, cyclic objects, objects whose
 * getters throw. It never throws itself, and what it gives has a limit whatever the size of the value.
 */
export function describeError(thrown: unknown): ErrorReport {
	const { name, message, stack, ...rest } = describe(thrown, new Set(), DEPTH);
	let details = JSON.stringify(rest);
	if (details.length > DETAILS_LENGTH) details = JSON.stringify(shortened(rest));
	return { name, message, stack, details };
}

function describe(thrown: unknown, seen: Set<unknown>, depth: number): NestedError {
	if (!isError(thrown)) {
		return {
			name: 'ThrownValue',
			message: capped(describeValue(thrown), MESSAGE_LENGTH),
			stack: null,
		};
	}
	if (seen.has(thrown)) return { name: 'Error', message: '[seen above: circular]', stack: null };
	seen.add(thrown);
	const message = asText(read(thrown, 'message')) ?? '';
	const name = capped(nameOf(thrown), NAME_LENGTH);
	const described: NestedError = {
		name,
		message: capped(message, MESSAGE_LENGTH),
		stack: stackOf(thrown, message),
	};
	if (depth > 0) addDetails(described, thrown, seen, depth);
	return described;
}

function addDetails(
	described: NestedError,
	error: object,
	seen: Set<unknown>,
	depth: number,
): void {
	if (has(error, 'cause')) {
		described.cause = describe(read(error, 'cause'), seen, depth - 1);
	}
	const errors = read(error, 'errors');
	if (Array.isArray(errors)) {
		described.errors = errors.slice(0, AGGREGATED).map((one) => describe(one, seen, depth - 1));
		if (errors.length > AGGREGATED) described.moreErrors = errors.length - AGGREGATED;
	}
	const fields = fieldsOf(error);
	if (fields) described.fields = fields;
}

function fieldsOf(error: object): Record<string, string> | undefined {
	let keys: string[] = [];
	try {
		keys = Object.keys(error);
	} catch {
		// a proxy may refuse
	}
	const told = keys.filter((key) => !['name', 'message', 'stack', 'cause', 'errors'].includes(key));
	if (told.length === 0) return undefined;
	const fields: Record<string, string> = {};
	for (const key of told.slice(0, FIELDS)) {
		fields[capped(key, NAME_LENGTH)] = capped(describeValue(read(error, key)), FIELD_LENGTH);
	}
	return fields;
}

function stackOf(error: object, message: string): string | null {
	const stack = asText(read(error, 'stack'));
	if (!stack) return null;
	// the stack repeats the message, which may be huge or look like frames
	const at = message === '' ? -1 : stack.indexOf(message);
	const head =
		at < 0 ? '' : stack.slice(0, Math.min(at, NAME_LENGTH)) + capped(message, MESSAGE_LENGTH);
	const frames = (at < 0 ? stack : stack.slice(at + message.length))
		.slice(0, 4 * STACK_LENGTH)
		.split('\n');
	while (frames.length > 1 && isOwnFrame(frames.at(-1)!)) frames.pop();
	const kept = capped(frames.slice(0, STACK_LINES).join('\n'), STACK_LENGTH);
	const more = frames.length - STACK_LINES;
	return wellFormed(head + kept + (more > 0 ? `\n    … (${more} more lines)` : ''));
}

function isOwnFrame(line: string): boolean {
	return line.includes(OWN_FRAMES) || line.includes('node:internal/') || /^\s*$/.test(line);
}

function nameOf(error: object): string {
	const name = asText(read(error, 'name')) || 'Error';
	if (name !== 'Error') return name;
	// a subclass that doesn't set its name
	const made = read(error, 'constructor');
	const own = typeof made === 'function' ? asText(read(made, 'name')) : undefined;
	return own || name;
}

function isError(thrown: unknown): thrown is Error {
	try {
		return types.isNativeError(thrown) || thrown instanceof Error;
	} catch {
		return false;
	}
}

function has(object: object, key: string): boolean {
	try {
		return key in object && (object as Record<string, unknown>)[key] !== undefined;
	} catch {
		return true;
	}
}

function read(object: object, key: string): unknown {
	try {
		return (object as Record<string, unknown>)[key];
	} catch {
		return '[its getter threw]';
	}
}

function asText(value: unknown): string | undefined {
	if (typeof value === 'string') return value;
	return value === undefined ? undefined : describeValue(value);
}

function describeValue(value: unknown): string {
	if (typeof value === 'string') return value;
	try {
		return inspect(value, {
			depth: 2,
			maxArrayLength: 10,
			maxStringLength: FIELD_LENGTH,
			customInspect: false,
		});
	} catch {
		return `[unreadable ${typeof value}]`;
	}
}

/** Text within `length` characters, with a note about what was left out. */
function capped(text: string, length: number): string {
	if (text.length <= length) return wellFormed(text);
	return `${wellFormed(text.slice(0, length))}… (${text.length - length} more characters)`;
}

function wellFormed(text: string): string {
	return text.replace(LONE_SURROGATES, '\ufffd');
}

/** Details that were too long as a whole: the nearest cause without its stack, first fields only. */
function shortened(details: ErrorDetails): ErrorDetails & { truncated: true } {
	const cut: ErrorDetails & { truncated: true } = { truncated: true };
	if (details.cause) cut.cause = bare(details.cause);
	if (details.errors) {
		cut.errors = details.errors.slice(0, 3).map(bare);
		cut.moreErrors = (details.moreErrors ?? 0) + details.errors.length - cut.errors.length;
	}
	return cut;
}

function bare({ name, message, stack }: NestedError): NestedError {
	return {
		name,
		message: capped(message, 1000),
		stack: stack === null ? null : capped(stack, 1000),
	};
}
