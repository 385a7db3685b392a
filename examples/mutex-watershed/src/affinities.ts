import type { RowColumn } from './layout.js';

/** A row-major image of labels, 0 = background. */
export interface LabelImage {
	readonly data: Uint32Array;
	/** Rows, columns. */
	readonly shape: RowColumn;
}

/** What is taken from an equality of 0 or 1, so that positive attracts and negative repels. */
const BIAS = 0.5;

/**
 * Derives affinities from a segmentation: one channel for each offset, `[channel, row, column]`.
 *
 * The value at (c, r, k) belongs to the edge from pixel (r, k) to pixel (r, k) + `neighborhood[c]`:
 * +0.5 where both ends have the same label, else -0.5. Two background pixels are the same; what lies
 * outside the image is background.
 */
export function equalityAffinities(
	labels: LabelImage,
	neighborhood: readonly RowColumn[],
): Float32Array {
	const [rows, columns] = labels.shape;
	const affinities = new Float32Array(neighborhood.length * rows * columns);
	const labelAt = (row: number, column: number) =>
		row >= 0 && row < rows && column >= 0 && column < columns
			? labels.data[row * columns + column]
			: 0;

	let edge = 0;
	for (const [down, right] of neighborhood) {
		for (let row = 0; row < rows; row++) {
			for (let column = 0; column < columns; column++) {
				const equal = labelAt(row, column) === labelAt(row + down, column + right);
				affinities[edge++] = (equal ? 1 : 0) - BIAS;
			}
		}
	}
	return affinities;
}
