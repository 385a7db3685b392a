// The mutex watershed reference: arrays and tiles of `__test__/vectors/mutex-watershed`.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import FileSystemStore from '@zarrita/storage/fs';
import * as zarr from 'zarrita';
import type { RowColumn } from '../../../examples/mutex-watershed/src/layout.js';

export type ReferenceSet = 'tutorial' | 'noisy';

export interface ReferenceTile {
	readonly tile: RowColumn;
	readonly block_id: number;
	readonly offset: RowColumn;
	readonly shape: RowColumn;
	readonly segments: number;
	readonly background_pixels: number;
	readonly ground_truth_ids: number;
}

export interface TileList {
	readonly image: RowColumn;
	readonly block: number;
	readonly neighborhood: RowColumn[];
	readonly tiles: ReferenceTile[];
}

function pathOf(set: ReferenceSet, name: string): string {
	return fileURLToPath(new URL(`../../vectors/mutex-watershed/${set}/${name}`, import.meta.url));
}

export async function readTileList(set: ReferenceSet): Promise<TileList> {
	return JSON.parse(await readFile(pathOf(set, 'tiles.json'), 'utf8'));
}

/** Reads a window of an array of the reference; without one, the whole array. */
export async function readReference(
	set: ReferenceSet,
	array: 'affinities' | 'ground_truth' | 'expected_tiles',
	window?: Pick<ReferenceTile, 'offset' | 'shape'>,
): Promise<Float32Array | Uint32Array> {
	const store = zarr.root(new FileSystemStore(pathOf(set, `data.zarr/${array}`)));
	const opened = await zarr.open.v3(store, { kind: 'array' });
	const pixels = [0, 1].map((axis) =>
		window ? zarr.slice(window.offset[axis]!, window.offset[axis]! + window.shape[axis]!) : null,
	);
	const selection = array === 'affinities' ? [null, ...pixels] : pixels;
	const { data } = await zarr.get(opened, selection);
	return data as Float32Array | Uint32Array;
}

/** Renumbers labels other than 0 as 1, 2, ... in the order of first appearance. */
export function renumber(labels: ArrayLike<number>): Uint32Array {
	const numbers = new Map<number, number>([[0, 0]]);
	return Uint32Array.from(labels, (label) => {
		if (!numbers.has(label)) numbers.set(label, numbers.size);
		return numbers.get(label)!;
	});
}

/** The labels of a window of an image, row-major. */
export function cut(
	image: { data: ArrayLike<number>; shape: RowColumn },
	{ offset, shape }: Pick<ReferenceTile, 'offset' | 'shape'>,
): Uint32Array {
	const [rows, columns] = shape;
	return Uint32Array.from({ length: rows * columns }, (_, pixel) => {
		const row = offset[0] + Math.floor(pixel / columns);
		return image.data[row * image.shape[1] + offset[1] + (pixel % columns)]!;
	});
}
