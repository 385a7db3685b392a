import { ValidationError } from '../errors.js';
import { refusal } from '../option-checks.js';
import type { Check } from '../option-table.js';

/** File systems allow 255 bytes for a name; the rest is for what bellis appends. */
const MAX_BYTES = 200;

/**
 * A task id names log and tracking directories and is the first part of block ids, so it can't hold
 * a path separator or a control character, nor be one of the two special directory names.
 */
export const taskId: Check<string> = (value, path) => {
	if (typeof value !== 'string' || value === '') {
		throw refusal(path, 'a string that names the task', value);
	}
	const fail = (why: string) => new ValidationError(`${path} ${why}`, { path, value });
	const bad = /[/\\\p{Cc}\p{Cs}]/u.exec(value)?.[0];
	if (bad !== undefined) {
		throw fail(`can't contain ${JSON.stringify(bad)}: it names a directory for logs and tracking`);
	}
	if (value === '.' || value === '..') {
		throw fail(`can't be ${JSON.stringify(value)}: it names a directory for logs and tracking`);
	}
	const bytes = Buffer.byteLength(value);
	if (bytes > MAX_BYTES) {
		throw fail(`can't be longer than ${MAX_BYTES} bytes of UTF-8: this one has ${bytes}`);
	}
	return value;
};
