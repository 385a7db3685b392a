import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import FileSystemStore from '@zarrita/storage/fs';
import * as zarr from 'zarrita';
import type { LabelImage } from './affinities.js';
import { IMAGE_SHAPE, NEIGHBORHOOD, type RowColumn, TILE } from './layout.js';
import type { AffinityTile } from './mutex-watershed.js';

const GROUND_TRUTH = 'ground_truth';
const AFFINITIES = 'affinities';
const SEGMENTATION = 'segmentation';

/** The attribute by which the example knows a group that it wrote itself. */
const OWNER = { written_by: 'bellis mutex watershed example' };

const CODECS = [{ name: 'bytes', configuration: { endian: 'little' } }] as const;

type ZarrArray<D extends zarr.DataType> = zarr.Array<D, FileSystemStore>;

/** Something else is where the example wants to write its arrays. */
export class ForeignVolumeError extends Error {
	override readonly name = 'ForeignVolumeError';

	constructor(path: string) {
		super(`${path} was not written by this example: name another folder with --out`);
	}
}

/** A rectangle of pixels: its first row and column, and its numbers of rows and columns. */
export interface Window {
	readonly offset: RowColumn;
	readonly shape: RowColumn;
}

/** Reads a two-dimensional label array of any Zarr store. */
export async function readLabels(path: string): Promise<LabelImage> {
	const array = await openArray(path, 'uint32');
	const { data, shape } = await zarr.get(array);
	return { data, shape: [shape[0]!, shape[1]!] };
}

/** Reads a two-dimensional array of bytes, such as the `done` cells of a tracking store. */
export async function readBytes(path: string): Promise<{ data: Uint8Array; shape: number[] }> {
	const array = await openArray(path, 'uint8');
	const { data, shape } = await zarr.get(array);
	return { data, shape };
}

/**
 * The Zarr group that the example works on: ground truth and affinities, `[channel, row, column]`,
 * as input, and the segmentation as output. A tile is one chunk of each array, so that workers
 * never write to the same file.
 */
export class Volume {
	readonly #path: string;
	readonly #affinities: ZarrArray<'float32'>;
	readonly #segmentation: ZarrArray<'uint32'>;

	private constructor(
		path: string,
		affinities: ZarrArray<'float32'>,
		segmentation: ZarrArray<'uint32'>,
	) {
		this.#path = path;
		this.#affinities = affinities;
		this.#segmentation = segmentation;
	}

	/** Opens a group that `create` made. */
	static async open(path: string): Promise<Volume> {
		return new Volume(
			path,
			await openArray(join(path, AFFINITIES), 'float32'),
			await openArray(join(path, SEGMENTATION), 'uint32'),
		);
	}

	/**
	 * Writes a new group with the input and an empty segmentation. A group of an earlier call is
	 * replaced.
	 *
	 * @throws ForeignVolumeError when something else is there already; nothing is changed then
	 */
	static async create(
		path: string,
		groundTruth: LabelImage,
		affinities: Float32Array,
	): Promise<Volume> {
		const root = zarr.root(new FileSystemStore(path));
		await removeOwnGroup(path);
		await zarr.create(root, { attributes: OWNER });

		const labels = await createLabelArray(root.resolve(GROUND_TRUTH));
		await zarr.set(labels, null, contiguous(groundTruth.data, [...IMAGE_SHAPE]));

		const shape = [NEIGHBORHOOD.length, ...IMAGE_SHAPE];
		const input = await zarr.create(root.resolve(AFFINITIES), {
			shape,
			chunkShape: [NEIGHBORHOOD.length, TILE, TILE],
			dtype: 'float32',
			fillValue: 0,
			codecs: [...CODECS],
			dimensionNames: ['channel', 'row', 'column'],
			attributes: { neighborhood: NEIGHBORHOOD.map((offset) => [...offset]) },
		});
		await zarr.set(input, null, contiguous(affinities, shape));

		return new Volume(path, input, await createLabelArray(root.resolve(SEGMENTATION)));
	}

	/** The affinities of the pixels of a window. */
	async readAffinities(window: Window): Promise<AffinityTile> {
		const { data } = await zarr.get(this.#affinities, [null, ...slices(window)]);
		return { data, shape: window.shape };
	}

	/** Replaces the labels of the pixels of a window. */
	async writeSegmentation(window: Window, labels: Uint32Array): Promise<void> {
		const chunk = contiguous(labels, [...window.shape]);
		await zarr.set(this.#segmentation, slices(window), chunk);
	}

	/** The whole segmentation; 0 where no tile was written. */
	async readSegmentation(): Promise<LabelImage> {
		const { data, shape } = await zarr.get(this.#segmentation);
		return { data, shape: [shape[0]!, shape[1]!] };
	}

	/** Makes the segmentation empty again. */
	async clearSegmentation(): Promise<void> {
		await rm(join(this.#path, SEGMENTATION, 'c'), { recursive: true, force: true });
	}
}

async function openArray<D extends 'uint8' | 'uint32' | 'float32'>(
	path: string,
	dtype: D,
): Promise<ZarrArray<D>> {
	const array = await zarr.open.v3(zarr.root(new FileSystemStore(path)), { kind: 'array' });
	if (!array.is(dtype)) throw new Error(`${path} holds ${array.dtype}, not ${dtype}`);
	return array as ZarrArray<D>;
}

function createLabelArray(at: zarr.Location<FileSystemStore>): Promise<ZarrArray<'uint32'>> {
	return zarr.create(at, {
		shape: [...IMAGE_SHAPE],
		chunkShape: [TILE, TILE],
		dtype: 'uint32',
		fillValue: 0,
		codecs: [...CODECS],
		dimensionNames: ['row', 'column'],
	});
}

async function removeOwnGroup(path: string): Promise<void> {
	const isThere = await access(path).then(
		() => true,
		() => false,
	);
	if (!isThere) return;
	const root = zarr.root(new FileSystemStore(path));
	const group = await zarr.open.v3(root, { kind: 'group' }).catch(() => undefined);
	if (group?.attrs.written_by !== OWNER.written_by) {
		throw new ForeignVolumeError(path);
	}
	await rm(path, { recursive: true });
}

function slices({ offset, shape }: Window): [zarr.Slice, zarr.Slice] {
	return [zarr.slice(offset[0], offset[0] + shape[0]), zarr.slice(offset[1], offset[1] + shape[1])];
}

function contiguous<T>(data: T, shape: number[]): { data: T; shape: number[]; stride: number[] } {
	const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
	return { data, shape, stride };
}
