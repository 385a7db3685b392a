import { blockNumber } from './block-number.js';
import { FIT_RULES, type Fit } from './fit.js';
import { type Coordinate, ceilDiv, floorDiv } from './geometry/coordinate.js';
import { ravel, unravel } from './geometry/flat-index.js';
import { Roi } from './geometry/roi.js';

/** What places the blocks of a task: the total read region, one block's read and write, the fit. */
export interface BlockLayout {
	readonly taskId: string;
	readonly totalRoi: Roi;
	readonly readRoi: Roi;
	readonly writeRoi: Roi;
	readonly fit: Fit;
}

/**
 * Turns the row-major index of a block into its Rois, its number and its cells, by arithmetic alone
 * and without keeping anything for a block. Expects a checked layout: equal numbers of axes, write
 * inside read, positive extents.
 */
export class BlockGeometry {
	readonly taskId: string;
	readonly totalRoi: Roi;
	/** What all blocks together may write: the total without the context at its borders. */
	readonly totalWriteRoi: Roi;
	/** Blocks on each axis; also the shape of a skip mask. */
	readonly blockGridShape: readonly number[];
	/** Cells on each axis of a tracking store. */
	readonly trackingGridShape: readonly number[];
	readonly fit: Fit;
	readonly #lower: Coordinate;
	readonly #readShape: Coordinate;
	readonly #writeShape: Coordinate;
	/** Steps from the corner of the total Roi to the first block: the context in whole blocks. */
	readonly #firstCell: readonly number[];

	constructor(layout: BlockLayout) {
		this.taskId = layout.taskId;
		this.totalRoi = layout.totalRoi;
		this.fit = layout.fit;
		this.#lower = layout.writeRoi.begin.sub(layout.readRoi.begin);
		const upper = layout.readRoi.end.sub(layout.writeRoi.end);
		this.#readShape = layout.readRoi.shape;
		this.#writeShape = layout.writeRoi.shape;
		this.totalWriteRoi = layout.totalRoi.grow(this.#lower.neg(), upper.neg());
		const divide = FIT_RULES[layout.fit].onlyWholeBlocks ? floorDiv : ceilDiv;
		const step = this.#writeShape.toArray();
		this.blockGridShape = Object.freeze(
			step.map((size, axis) => divide(this.totalWriteRoi.shape[axis]!, size)),
		);
		this.trackingGridShape = Object.freeze(
			step.map((size, axis) => ceilDiv(layout.totalRoi.shape[axis]!, size)),
		);
		this.#firstCell = step.map((size, axis) => floorDiv(this.#lower[axis]!, size));
	}

	/** Number of blocks, exact. */
	get blockCount(): bigint {
		return this.blockGridShape.reduce((count, size) => count * BigInt(size), 1n);
	}

	/** Place in the block grid of the block with this row-major index. */
	position(index: number | bigint): number[] {
		return unravel(index, this.blockGridShape);
	}

	/** Row-major index of a place in the block grid; a bigint past 2^53 - 1. */
	indexOf(position: readonly number[]): number | bigint {
		return ravel(position, this.blockGridShape);
	}

	/** The cell of the tracking store that belongs to a place in the block grid. */
	cellOf(position: readonly number[]): number[] {
		return position.map((value, axis) => value + this.#firstCell[axis]!);
	}

	/** The place in the block grid that belongs to a cell of the tracking store; null when none does. */
	positionOf(cell: readonly number[]): number[] | null {
		const position = cell.map((value, axis) => value - this.#firstCell[axis]!);
		const inside = position.every(
			(value, axis) => value >= 0 && value < this.blockGridShape[axis]!,
		);
		return inside ? position : null;
	}

	/** Number of the block, unique in its task, neither dense nor starting at 0. */
	numberOf(position: readonly number[]): number | bigint {
		return blockNumber(this.cellOf(position));
	}

	/** What the block writes; cut at what the task may write where the fit says so. */
	writeRoi(position: readonly number[]): Roi {
		const write = new Roi(this.totalWriteRoi.begin.add(this.#shift(position)), this.#writeShape);
		return FIT_RULES[this.fit].cutsWrites ? write.intersect(this.totalWriteRoi) : write;
	}

	/** What the block reads, context included; cut at the total where the fit says so. */
	readRoi(position: readonly number[]): Roi {
		const begin = this.totalWriteRoi.begin.sub(this.#lower).add(this.#shift(position));
		const read = new Roi(begin, this.#readShape);
		return FIT_RULES[this.fit].cutsReads ? read.intersect(this.totalRoi) : read;
	}

	#shift(position: readonly number[]): Coordinate {
		return this.#writeShape.mul(position);
	}
}
