import { BlockGeometry, type BlockLayout } from '../block-geometry.js';
import { ValidationError } from '../errors.js';
import type { Roi } from '../geometry/roi.js';

/**
 * Checks how a task's Rois go together, and gives the geometry of its blocks.
 *
 * @throws ValidationError that names the Roi
 */
export function checkedGeometry(layout: BlockLayout): BlockGeometry {
	const { totalRoi, readRoi, writeRoi } = layout;
	for (const [path, roi] of [
		['readRoi', readRoi],
		['writeRoi', writeRoi],
	] as const) {
		requireDims(roi, totalRoi, path);
		const empty = roi.shape.toArray().indexOf(0);
		if (empty >= 0) {
			throw new ValidationError(
				`${path}.shape must be positive on each axis, but ${path}.shape[${empty}] is 0`,
				{ path: `${path}.shape[${empty}]`, value: 0 },
			);
		}
	}
	if (!readRoi.contains(writeRoi)) {
		throw new ValidationError(
			`writeRoi must lie inside readRoi: a block can't write ${writeRoi} and read ${readRoi}`,
			{ path: 'writeRoi', value: writeRoi },
		);
	}
	try {
		const geometry = new BlockGeometry(layout);
		if (geometry.blockGridShape.every((size) => size > 0)) {
			// the last block reaches furthest
			const last = geometry.blockGridShape.map((size) => size - 1);
			geometry.readRoi(last);
		}
		return geometry;
	} catch (error) {
		if (!(error instanceof ValidationError)) throw error;
		throw new ValidationError(
			`totalRoi ${totalRoi} gives blocks with coordinates beyond 2^53 - 1`,
			{ path: 'totalRoi', value: totalRoi },
		);
	}
}

/** Throws unless a Roi has as many axes as the task's total. */
export function requireDims(roi: Roi, totalRoi: Roi, path: string): void {
	if (roi.dims === totalRoi.dims) return;
	throw new ValidationError(
		`${path} must have as many axes as totalRoi: ${totalRoi.dims}, not ${roi.dims}`,
		{ path, value: roi },
	);
}
