import { join } from 'node:path';

/** Rows and columns of the image, in pixels. */
export const IMAGE_SHAPE = [512, 512] as const;

/** Edge length of a tile, in pixels. A tile is one block of the task and one chunk of each array. */
export const TILE = 128;

/** Tiles per axis: rows, columns. */
export const TILE_GRID = [IMAGE_SHAPE[0] / TILE, IMAGE_SHAPE[1] / TILE] as const;

/** An offset between two pixels, or a position in a grid: rows, columns. */
export type RowColumn = readonly [row: number, column: number];

/** The partner of a pixel in each affinity channel. */
export const NEIGHBORHOOD: readonly RowColumn[] = [
	[0, 1], // right: short range, attractive
	[1, 0], // down: short range, attractive
	[0, 3], // three to the right: long range, repulsive
	[3, 0], // three down: long range, repulsive
];

/** The tile on which the buggy function throws: row and column in the tile grid. */
export const FAILING_TILE: RowColumn = [1, 2];

/** The id of the one task of the pipeline. */
export const TASK_ID = 'mws';

/** Where a run of the example keeps what it writes. */
export interface OutputPaths {
	/** The folder given with `--out`. */
	readonly directory: string;
	/** Zarr group with the input and the output of the task. */
	readonly volume: string;
	/** Tracking store of the task. */
	readonly tracking: string;
	/** Worker logs. */
	readonly logs: string;
}

/** The paths below the folder given with `--out`. */
export function outputPaths(directory: string): OutputPaths {
	return {
		directory,
		volume: join(directory, 'volume.zarr'),
		tracking: join(directory, 'markers.zarr', TASK_ID),
		logs: join(directory, 'logs'),
	};
}
