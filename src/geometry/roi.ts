import { ValidationError } from '../errors.js';
import { showValue } from '../show-value.js';
import {
	Coordinate,
	type CoordinateLike,
	ceilDiv,
	checkedProduct,
	floorDiv,
	readCoordinate,
	requireSameDims,
} from './coordinate.js';

/** What is taken wherever a Roi is: one, or the plain object that `roi.toJSON()` gives. */
export type RoiLike = Roi | { readonly offset: CoordinateLike; readonly shape: CoordinateLike };

/** Which way {@link Roi.snapToGrid} moves the borders. */
export type SnapMode = 'grow' | 'shrink' | 'closest';

/**
 * A box in space, half-open: from `begin` up to but without `end`. It is frozen. An extent may be
 * zero, then the Roi is empty but still has its place.
 */
export class Roi {
	/** The first corner. */
	readonly offset: Coordinate;
	/** The extent on each axis, zero or more. */
	readonly shape: Coordinate;
	/** The corner behind the last: `offset + shape`. */
	readonly end: Coordinate;

	constructor(offset: CoordinateLike, shape: CoordinateLike) {
		const begin = readCoordinate(offset, 'offset');
		const extent = readCoordinate(shape, 'shape');
		requireSameDims(extent.length, begin.length, 'shape', shape);
		const negative = extent.findIndex((value) => value < 0);
		if (negative >= 0) {
			throw new ValidationError(
				`shape[${negative}] must be zero or more, not ${extent[negative]}`,
				{ path: `shape[${negative}]`, value: extent[negative] },
			);
		}
		this.offset = offset instanceof Coordinate ? offset : new Coordinate(begin);
		this.shape = shape instanceof Coordinate ? shape : new Coordinate(extent);
		this.end = endOf(begin, extent);
		Object.freeze(this);
	}

	/** The first corner, the same as `offset`. */
	get begin(): Coordinate {
		return this.offset;
	}

	/** Number of axes. */
	get dims(): number {
		return this.offset.dims;
	}

	/** Whether it holds no point. */
	get empty(): boolean {
		return this.shape.toArray().includes(0);
	}

	/** Number of points; throws where that is beyond 2^53 - 1. */
	get size(): number {
		return checkedProduct(this.shape.toArray(), 'size');
	}

	/**
	 * Whether a point, or a whole Roi, lies inside. Of a Roi only the borders are compared, so an
	 * empty one inside the borders is contained.
	 */
	contains(other: RoiLike | CoordinateLike): boolean {
		if (isRoiShaped(other)) {
			const roi = this.#operand(other);
			return this.#every(
				(axis) => this.offset[axis]! <= roi.offset[axis]! && roi.end[axis]! <= this.end[axis]!,
			);
		}
		const point = readCoordinate(other, 'other');
		requireSameDims(point.length, this.dims, 'other', other);
		return this.#every(
			(axis) => this.offset[axis]! <= point[axis]! && point[axis]! < this.end[axis]!,
		);
	}

	/** Whether both share a point; an empty Roi shares none. */
	intersects(other: RoiLike): boolean {
		return !this.intersect(other).empty;
	}

	/**
	 * What both have in common. Where they share nothing the extent is zero on the axes that miss
	 * each other, and the offset stays a real place.
	 */
	intersect(other: RoiLike): Roi {
		const roi = this.#operand(other);
		const begin = this.offset.max(roi.offset);
		return Roi.#between(begin, this.end.min(roi.end));
	}

	/** The smallest Roi around both; an empty one counts as nothing. */
	union(other: RoiLike): Roi {
		const roi = this.#operand(other);
		if (this.empty) return roi;
		if (roi.empty) return this;
		return Roi.#between(this.offset.min(roi.offset), this.end.max(roi.end));
	}

	/**
	 * Moves the lower border out by `neg` and the upper by `pos`; negative amounts move them in, and
	 * an extent never gets below zero.
	 */
	grow(neg: CoordinateLike | number, pos: CoordinateLike | number): Roi {
		return Roi.#between(this.offset.sub(neg), this.end.add(pos));
	}

	/** The same box at another place. */
	shift(by: CoordinateLike | number): Roi {
		return new Roi(this.offset.add(by), this.shape);
	}

	/**
	 * Moves the borders to multiples of `grid`: outwards (`'grow'`, the default), inwards
	 * (`'shrink'`, an extent never gets below zero) or each to the nearest (`'closest'`, a tie goes
	 * up).
	 */
	snapToGrid(grid: CoordinateLike | number, mode: SnapMode = 'grow'): Roi {
		const step =
			typeof grid === 'number'
				? readCoordinate(new Array<number>(this.dims).fill(grid), 'grid')
				: readCoordinate(grid, 'grid');
		requireSameDims(step.length, this.dims, 'grid', grid);
		if (step.some((value) => value < 1)) {
			throw new ValidationError(`grid must be positive, not ${showValue(grid)}`, {
				path: 'grid',
				value: grid,
			});
		}
		const rounding = ROUNDING[mode];
		if (rounding === undefined) {
			throw new ValidationError(
				`mode must be 'grow', 'shrink' or 'closest', not ${showValue(mode)}`,
				{ path: 'mode', value: mode },
			);
		}
		const [lower, upper] = rounding;
		const snap = (corner: Coordinate, round: (a: number, b: number) => number) =>
			new Coordinate(Array.from(corner, (value, axis) => round(value, step[axis]!) * step[axis]!));
		return Roi.#between(snap(this.offset, lower), snap(this.end, upper));
	}

	/** Whether both have the same offset and shape. */
	equals(other: RoiLike): boolean {
		const roi = readRoi(other, 'other');
		return this.offset.equals(roi.offset) && this.shape.equals(roi.shape);
	}

	/** `Roi((0, 0), (10, 10))` */
	toString(): string {
		return `Roi(${this.offset}, ${this.shape})`;
	}

	/** Offset and shape as arrays; `JSON.stringify` calls it. */
	toJSON(): { offset: number[]; shape: number[] } {
		return { offset: this.offset.toArray(), shape: this.shape.toArray() };
	}

	[Symbol.for('nodejs.util.inspect.custom')](): string {
		return this.toString();
	}

	static #between(begin: Coordinate, end: Coordinate): Roi {
		return new Roi(begin, end.sub(begin).max(0));
	}

	#every(test: (axis: number) => boolean): boolean {
		for (let axis = 0; axis < this.dims; axis++) {
			if (!test(axis)) return false;
		}
		return true;
	}

	#operand(other: RoiLike): Roi {
		const roi = readRoi(other, 'other');
		requireSameDims(roi.dims, this.dims, 'other', other);
		return roi;
	}
}

type Rounding = (a: number, b: number) => number;

const roundHalfUp: Rounding = (a, b) => {
	const below = floorDiv(a, b);
	return 2 * (a - below * b) >= b ? below + 1 : below;
};

const ROUNDING: Record<SnapMode, readonly [lower: Rounding, upper: Rounding]> = {
	grow: [floorDiv, ceilDiv],
	shrink: [ceilDiv, floorDiv],
	closest: [roundHalfUp, roundHalfUp],
};

function endOf(begin: readonly number[], extent: readonly number[]): Coordinate {
	const end = begin.map((value, axis) => value + extent[axis]!);
	const beyond = end.findIndex((value) => !Number.isSafeInteger(value));
	if (beyond >= 0) {
		throw new ValidationError(
			`offset[${beyond}] + shape[${beyond}] must be at most 2^53 - 1: ${begin[beyond]} + ${extent[beyond]} is beyond`,
			{ path: `shape[${beyond}]`, value: extent[beyond] },
		);
	}
	return new Coordinate(end);
}

function isRoiShaped(value: unknown): value is RoiLike {
	return (
		value instanceof Roi ||
		(typeof value === 'object' && value !== null && 'offset' in value && 'shape' in value)
	);
}

/** Checks what a user gave as a Roi; a bad entry is named by `path.offset[axis]`. */
export function readRoi(value: unknown, path: string): Roi {
	if (value instanceof Roi) return value;
	if (!isRoiShaped(value)) {
		throw new ValidationError(
			`${path} must be a Roi, such as new Roi([0, 0], [128, 128]), not ${showValue(value)}`,
			{ path, value },
		);
	}
	try {
		return new Roi(value.offset, value.shape);
	} catch (error) {
		if (!(error instanceof ValidationError)) throw error;
		throw new ValidationError(`${path}.${error.message}`, {
			path: `${path}.${error.path}`,
			value: error.value,
		});
	}
}
