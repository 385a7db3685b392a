import { ExclusiveClusters } from './exclusive-clusters.js';
import type { RowColumn } from './layout.js';

/** Affinities of a tile, `[channel, row, column]`. */
export interface AffinityTile {
	readonly data: Float32Array | Float64Array;
	/** Rows, columns. */
	readonly shape: RowColumn;
}

/** The edges of a tile whose both ends lie in it. */
interface Edges {
	readonly from: Uint32Array;
	readonly to: Uint32Array;
	/** Positive: the ends attract each other; else they repel. */
	readonly weight: Float64Array;
	readonly count: number;
}

/**
 * Segments a tile with the mutex watershed: goes through the edges from the strongest to the
 * weakest, joins the clusters of the ends of an attractive edge, and makes those of a repulsive one
 * exclude each other, unless an earlier edge decided otherwise.
 *
 * A pixel that no attractive edge of the tile touches is background.
 *
 * @param tile the affinities; positive attracts, negative repels
 * @param neighborhood the offset from a pixel to its partner, one for each channel
 * @returns row-major labels: 0 for background, else 1, 2, ... in the order of first appearance
 * @throws RangeError when there isn't one value for each channel and pixel, or one is not a number
 */
export function mutexWatershed(
	tile: AffinityTile,
	neighborhood: readonly RowColumn[],
): Uint32Array {
	const pixels = tile.shape[0] * tile.shape[1];
	const edges = listEdges(tile, neighborhood);

	const foreground = new Uint8Array(pixels);
	for (let edge = 0; edge < edges.count; edge++) {
		if (edges.weight[edge]! <= 0) continue;
		foreground[edges.from[edge]!] = 1;
		foreground[edges.to[edge]!] = 1;
	}

	const clusters = new ExclusiveClusters(pixels);
	for (const edge of strongestFirst(edges)) {
		const from = edges.from[edge]!;
		const to = edges.to[edge]!;
		if (!foreground[from] || !foreground[to]) continue;
		if (edges.weight[edge]! > 0) clusters.join(from, to);
		else clusters.exclude(from, to);
	}
	return numberByAppearance(clusters, foreground);
}

function listEdges(tile: AffinityTile, neighborhood: readonly RowColumn[]): Edges {
	const [rows, columns] = tile.shape;
	const { data } = tile;
	const capacity = neighborhood.length * rows * columns;
	if (data.length !== capacity) {
		throw new RangeError(
			`${neighborhood.length} channels of ${rows} x ${columns} pixels need ${capacity} affinities, not ${data.length}`,
		);
	}
	const from = new Uint32Array(capacity);
	const to = new Uint32Array(capacity);
	const weight = new Float64Array(capacity);
	let count = 0;
	for (const [channel, [down, right]] of neighborhood.entries()) {
		const lastRow = rows - Math.max(down, 0);
		const lastColumn = columns - Math.max(right, 0);
		for (let row = Math.max(-down, 0); row < lastRow; row++) {
			for (let column = Math.max(-right, 0); column < lastColumn; column++) {
				const pixel = row * columns + column;
				const value = data[channel * rows * columns + pixel]!;
				if (Number.isNaN(value)) {
					throw new RangeError(`the affinity of channel ${channel} at (${row}, ${column}) is NaN`);
				}
				from[count] = pixel;
				to[count] = pixel + down * columns + right;
				weight[count] = value;
				count++;
			}
		}
	}
	return { from, to, weight, count };
}

/** The edges by magnitude of their weight, descending; equal ones in the order of the list. */
function strongestFirst({ weight, count }: Edges): Uint32Array {
	const order = Uint32Array.from({ length: count }, (_, edge) => edge);
	return order.sort((a, b) => Math.abs(weight[b]!) - Math.abs(weight[a]!) || a - b);
}

function numberByAppearance(clusters: ExclusiveClusters, foreground: Uint8Array): Uint32Array {
	const labels = new Uint32Array(foreground.length);
	const labelOfRoot = new Map<number, number>();
	for (let pixel = 0; pixel < foreground.length; pixel++) {
		if (!foreground[pixel]) continue;
		const root = clusters.find(pixel);
		let label = labelOfRoot.get(root);
		if (label === undefined) {
			label = labelOfRoot.size + 1;
			labelOfRoot.set(root, label);
		}
		labels[pixel] = label;
	}
	return labels;
}
