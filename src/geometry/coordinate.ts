import { ValidationError } from '../errors.js';
import { showValue } from '../show-value.js';

/** The most axes that a Coordinate can have. */
export const MAX_DIMS = 8;

/** What is taken wherever a Coordinate is: numbers or bigints, one for each axis. */
export type CoordinateLike =
	| Coordinate
	| readonly (number | bigint)[]
	| Int8Array
	| Uint8Array
	| Int16Array
	| Uint16Array
	| Int32Array
	| Uint32Array
	| Float64Array
	| BigInt64Array
	| BigUint64Array;

/**
 * A point or an extent in space: one safe integer for each of 1 to 8 axes. It is frozen; arithmetic
 * gives new ones. Operands with another number of axes, and results that aren't safe integers,
 * throw a `ValidationError`. A plain number as operand stands for the same number on every axis.
 */
export class Coordinate implements Iterable<number> {
	/** The value on an axis. */
	readonly [axis: number]: number;
	readonly #values: readonly number[];

	constructor(values: CoordinateLike) {
		this.#values = readCoordinate(values, 'coordinate');
		for (let axis = 0; axis < this.#values.length; axis++) {
			(this as Record<number, number>)[axis] = this.#values[axis]!;
		}
		Object.freeze(this);
	}

	/** Number of axes. */
	get dims(): number {
		return this.#values.length;
	}

	[Symbol.iterator](): IterableIterator<number> {
		return this.#values[Symbol.iterator]();
	}

	/** The sum on each axis. */
	add(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, (a, b) => a + b);
	}

	/** The difference on each axis. */
	sub(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, (a, b) => a - b);
	}

	/** The product on each axis. */
	mul(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, (a, b) => a * b);
	}

	/** Quotient rounded towards minus infinity: -7 by 3 is -3. Division by zero throws. */
	floorDiv(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, floorDiv, true);
	}

	/** What {@link floorDiv} leaves, with the sign of the divisor: -7 mod 3 is 2. */
	mod(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, floorMod, true);
	}

	/** The negated value on each axis. */
	neg(): Coordinate {
		return new Coordinate(this.#values.map((value) => -value));
	}

	/** The smaller value on each axis. */
	min(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, Math.min);
	}

	/** The larger value on each axis. */
	max(other: CoordinateLike | number): Coordinate {
		return this.#combine(other, Math.max);
	}

	/** All values multiplied; throws where that isn't a safe integer. */
	product(): number {
		return checkedProduct(this.#values, 'product');
	}

	/** Whether both have the same values on the same number of axes. */
	equals(other: CoordinateLike): boolean {
		const values = readCoordinate(other, 'other');
		return (
			values.length === this.#values.length &&
			values.every((value, axis) => value === this.#values[axis])
		);
	}

	/** The values as a new array. */
	toArray(): number[] {
		return [...this.#values];
	}

	/** The values as an array; `JSON.stringify` calls it. */
	toJSON(): number[] {
		return this.toArray();
	}

	/** `(1, 2)` */
	toString(): string {
		return `(${this.#values.join(', ')})`;
	}

	[Symbol.for('nodejs.util.inspect.custom')](): string {
		return `Coordinate${this}`;
	}

	/** @internal The values themselves, not to be changed. */
	static valuesOf(coordinate: Coordinate): readonly number[] {
		return coordinate.#values;
	}

	#combine(
		other: CoordinateLike | number,
		operation: (a: number, b: number) => number,
		divides = false,
	): Coordinate {
		const right =
			typeof other === 'number'
				? readCoordinate(new Array<number>(this.dims).fill(other), 'other')
				: readCoordinate(other, 'other');
		requireSameDims(right.length, this.dims, 'other', other);
		if (divides && right.includes(0)) {
			throw new ValidationError(`can't divide by zero: the divisor is ${showValue(other)}`, {
				path: 'other',
				value: other,
			});
		}
		return new Coordinate(this.#values.map((value, axis) => operation(value, right[axis]!)));
	}
}

/**
 * Checks what a user gave as a coordinate, and gives its values, not to be changed.
 *
 * @param path names the argument in the error, with `[axis]` appended for a bad entry
 */
export function readCoordinate(values: unknown, path: string): readonly number[] {
	if (values instanceof Coordinate) return Coordinate.valuesOf(values);
	const listed = Array.isArray(values) || (ArrayBuffer.isView(values) && 'length' in values);
	if (!listed) {
		throw new ValidationError(
			`${path} must be a Coordinate or an array with one integer for each axis, not ${showValue(values)}`,
			{ path, value: values },
		);
	}
	const entries = values as ArrayLike<unknown>;
	if (entries.length < 1 || entries.length > MAX_DIMS) {
		throw new ValidationError(`${path} must have 1 to ${MAX_DIMS} axes, not ${entries.length}`, {
			path,
			value: values,
		});
	}
	const numbers = new Array<number>(entries.length);
	for (let axis = 0; axis < entries.length; axis++) {
		const entry = entries[axis];
		const number = typeof entry === 'bigint' ? Number(entry) : entry;
		if (!Number.isSafeInteger(number)) throw notAnInteger(entry, `${path}[${axis}]`);
		numbers[axis] = (number as number) + 0; // turns -0 into 0
	}
	return numbers;
}

function notAnInteger(value: unknown, path: string): ValidationError {
	return new ValidationError(
		`${path} must be an integer between -(2^53 - 1) and 2^53 - 1, not ${showValue(value)}`,
		{ path, value },
	);
}

/** Throws unless both have the same number of axes. */
export function requireSameDims(
	dims: number,
	expected: number,
	path: string,
	value: unknown,
): void {
	if (dims === expected) return;
	throw new ValidationError(
		`${path} must have ${expected} ${expected === 1 ? 'axis' : 'axes'}, not ${dims}`,
		{ path, value },
	);
}

/** All values multiplied; throws where that isn't a safe integer. */
export function checkedProduct(values: readonly number[], path: string): number {
	if (values.includes(0)) return 0;
	const product = values.reduce((total, value) => total * value, 1);
	if (!Number.isSafeInteger(product)) {
		throw new ValidationError(`the ${path} of (${values.join(', ')}) is beyond 2^53 - 1`, {
			path,
			value: values,
		});
	}
	return product;
}

/** Exact quotient of safe integers, rounded towards minus infinity. */
export function floorDiv(a: number, b: number): number {
	const rest = a % b;
	// a - rest is a multiple of b and no larger than a, so the quotient is exact.
	const quotient = (a - rest) / b;
	return (rest !== 0 && rest < 0 !== b < 0 ? quotient - 1 : quotient) + 0;
}

/** Exact quotient of safe integers, rounded towards plus infinity. */
export function ceilDiv(a: number, b: number): number {
	return -floorDiv(-a, b) + 0;
}

/** What {@link floorDiv} leaves, with the sign of the divisor. */
export function floorMod(a: number, b: number): number {
	const rest = a % b;
	return (rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest) + 0;
}
