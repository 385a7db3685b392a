import { types } from 'node:util';
import { ValidationError } from '../errors.js';
import { showValue } from '../show-value.js';

/** True, false, 1 or 0 for each block, flat or nested in the shape of the block grid. */
export type NestedMask = readonly (boolean | number | NestedMask)[];

/**
 * Which blocks to skip: one entry for each cell of `blockGridShape`, flat and row-major in a typed
 * array or an array, or nested arrays of that shape. True or 1 skips the block, in a typed array
 * everything but 0 does.
 */
export type SkipMask =
	| Uint8Array
	| Uint8ClampedArray
	| Int8Array
	| Uint16Array
	| Int16Array
	| Uint32Array
	| Int32Array
	| Float32Array
	| Float64Array
	| NestedMask;

/**
 * Brings a mask into one byte for each block. An array of bytes is used as it is, without a copy;
 * everything else is converted.
 *
 * @param shape the block grid that the mask must fit
 */
export function readSkipMask(mask: unknown, shape: readonly number[], path: string): Uint8Array {
	const count = shape.reduce((total, size) => total * size, 1);
	if (types.isTypedArray(mask) && !types.isBigInt64Array(mask) && !types.isBigUint64Array(mask)) {
		const values = mask as Exclude<SkipMask, NestedMask>;
		if (values.length !== count) throw wrongShape(`[${values.length}]`, shape, path, mask);
		if (values.BYTES_PER_ELEMENT === 1) {
			return new Uint8Array(values.buffer, values.byteOffset, values.length);
		}
		const bytes = new Uint8Array(count);
		for (let i = 0; i < count; i++) bytes[i] = values[i] === 0 ? 0 : 1;
		return bytes;
	}
	if (!Array.isArray(mask)) {
		throw new ValidationError(
			`${path} must be a typed array or an array with an entry for each block, not ${showValue(mask)}`,
			{ path, value: mask },
		);
	}
	if (count === 0 && mask.length === 0) return new Uint8Array(0);
	const nested = Array.isArray(mask[0]);
	const found = nested ? shapeOf(mask) : [mask.length];
	const expected = nested ? shape : [count];
	// below an axis without entries there is nothing to have a shape
	const empty = expected.indexOf(0);
	const compared = empty >= 0 ? expected.slice(0, empty + 1) : expected;
	if (`${found}` !== `${compared}`) throw wrongShape(`[${found.join(', ')}]`, shape, path, mask);
	const bytes = new Uint8Array(count);
	fill(mask, expected, 0, 0, bytes, path);
	return bytes;
}

function shapeOf(mask: readonly unknown[]): number[] {
	const shape: number[] = [];
	let level: unknown = mask;
	while (Array.isArray(level)) {
		shape.push(level.length);
		level = level[0];
	}
	return shape;
}

/** Copies a nested mask behind `start`, and gives where the next one goes. */
function fill(
	level: readonly unknown[],
	shape: readonly number[],
	axis: number,
	start: number,
	bytes: Uint8Array,
	path: string,
): number {
	let next = start;
	for (let i = 0; i < level.length; i++) {
		const entry = level[i];
		const place = `${path}[${i}]`;
		if (axis < shape.length - 1) {
			if (!Array.isArray(entry) || entry.length !== shape[axis + 1]) {
				throw new ValidationError(
					`${place} must be an array of ${shape[axis + 1]} entries, not ${showValue(entry)}`,
					{ path: place, value: entry },
				);
			}
			next = fill(entry, shape, axis + 1, next, bytes, place);
		} else if (entry === true || entry === 1) {
			bytes[next++] = 1;
		} else if (entry === false || entry === 0) {
			bytes[next++] = 0;
		} else {
			throw new ValidationError(`${place} must be true, false, 0 or 1, not ${showValue(entry)}`, {
				path: place,
				value: entry,
			});
		}
	}
	return next;
}

function wrongShape(
	found: string,
	shape: readonly number[],
	path: string,
	value: unknown,
): ValidationError {
	const count = shape.reduce((total, size) => total * size, 1);
	return new ValidationError(
		`${path} must have an entry for each block: the shape [${shape.join(', ')}], or ${count} entries flat; this one has the shape ${found}`,
		{ path, value },
	);
}
