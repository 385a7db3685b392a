// What runs in the workers: one tile's segmentation, as a block function and as a worker function.
import { type Block, Client, type Context } from 'bellis';
import { FAILING_TILE, NEIGHBORHOOD, type RowColumn, TILE } from './layout.js';
import { mutexWatershed } from './mutex-watershed.js';
import { Volume, type Window } from './volume.js';

/** What the driver hands to the workers as the task's `config`. */
export interface TileConfig {
	/** Path of the volume to read from and write to. */
	readonly volume: string;
}

type BlockFunction = (block: Block, context: Context) => Promise<void>;

/** Block function: reads the block's affinities, segments them and writes the labels. */
export async function segmentTile(block: Block, context: Context): Promise<void> {
	const volume = await openVolume((context.config as TileConfig).volume);
	const affinities = await volume.readAffinities(windowOf(block.readRoi));
	const labels = mutexWatershed(affinities, NEIGHBORHOOD);

	// Labels count from 1 in each tile: this moves them to a range of the block's own.
	const firstLabel = Number(block.number) * TILE * TILE;
	for (let pixel = 0; pixel < labels.length; pixel++) {
		if (labels[pixel] !== 0) labels[pixel]! += firstLabel;
	}
	await volume.writeSegmentation(windowOf(block.writeRoi), labels);
}

/** Block function with a bug: throws on one tile. */
export async function segmentTileBuggy(block: Block, context: Context): Promise<void> {
	const [row, column] = windowOf(block.writeRoi).offset;
	const tile = [Math.floor(row / TILE), Math.floor(column / TILE)];
	if (tile[0] === FAILING_TILE[0] && tile[1] === FAILING_TILE[1]) {
		throw new Error(`simulated failure on tile (${tile.join(', ')}) (block ${block.id})`);
	}
	await segmentTile(block, context);
}

/** Worker function: the same work in a loop of its own. */
export function segmentTiles(context: Context): Promise<void> {
	return processBlocks(segmentTile, context);
}

/** Worker function with the same bug. */
export function segmentTilesBuggy(context: Context): Promise<void> {
	return processBlocks(segmentTileBuggy, context);
}

async function processBlocks(processBlock: BlockFunction, context: Context): Promise<void> {
	await using client = new Client(context);
	for (;;) {
		const block = await client.acquireBlock();
		if (block === null) return;
		try {
			// The task's `config` came over the client's connection.
			await processBlock(block, client.context);
			client.release(block);
		} catch (error) {
			// One bad block doesn't end the worker: the scheduler counts the attempt and hands it out again.
			client.fail(block, error);
		}
	}
}

const openVolumes = new Map<string, Promise<Volume>>();

/** Opens a volume once for each process: a stand-in for set-up that costs something. */
function openVolume(path: string): Promise<Volume> {
	let volume = openVolumes.get(path);
	if (!volume) {
		volume = Volume.open(path);
		openVolumes.set(path, volume);
	}
	return volume;
}

function windowOf(roi: { offset: Iterable<number>; shape: Iterable<number> }): Window {
	return { offset: rowColumn(roi.offset), shape: rowColumn(roi.shape) };
}

function rowColumn(coordinate: Iterable<number>): RowColumn {
	const [row, column] = coordinate;
	return [row!, column!];
}
