import { createHash } from 'node:crypto';
import type { BlockLayout } from '../block-geometry.js';
import type { Coordinate } from '../geometry/coordinate.js';

/**
 * What a tracking store knows a task's layout by: a SHA-256 in hexadecimal over the three Rois and
 * the fit, the same as daisy 2.0 computes.
 */
export function layoutHash(layout: BlockLayout): string {
	const hash = createHash('sha256').update('daisy-tracking:v1\n');
	const integers = (values: Coordinate) => {
		for (const value of values) {
			const bytes = Buffer.alloc(8);
			bytes.writeBigInt64LE(BigInt(value));
			hash.update(bytes).update(',');
		}
	};
	for (const [label, roi] of [
		['total', layout.totalRoi],
		['read', layout.readRoi],
		['write', layout.writeRoi],
	] as const) {
		hash.update(`${label}:offset=`);
		integers(roi.offset);
		hash.update(';shape=');
		integers(roi.shape);
		hash.update(';');
	}
	const fit = { valid: 'Valid', overhang: 'Overhang', shrink: 'Shrink' }[layout.fit];
	return hash.update(`fit=${fit}`).digest('hex');
}
