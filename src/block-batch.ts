import { Block } from './block.js';
import type { BlockGeometry } from './block-geometry.js';

/** Blocks of one task that were acquired together. They are made when asked for. */
export class BlockBatch implements Iterable<Block> {
	/** Id of the task that all are of. */
	readonly taskId: string;
	/** How many. */
	readonly length: number;
	/** Row-major places in the task's block grid, in the order of hand-out. */
	readonly indices: Float64Array;
	readonly #geometry: BlockGeometry;

	private constructor(geometry: BlockGeometry, indices: Float64Array) {
		this.taskId = geometry.taskId;
		this.length = indices.length;
		this.indices = indices;
		this.#geometry = geometry;
	}

	/**
	 * The block at a place in the batch; each call makes a new object.
	 *
	 * @throws RangeError for a place outside the batch
	 */
	at(place: number): Block {
		const index = this.indices[place];
		if (index === undefined) {
			throw new RangeError(`the batch has ${this.length} blocks and none at ${place}`);
		}
		const block = Block.at(this.#geometry, index);
		block.status = 'processing';
		return block;
	}

	*[Symbol.iterator](): Generator<Block, void, undefined> {
		for (let place = 0; place < this.length; place++) yield this.at(place);
	}

	/** @internal The only way to make one: schedulers do. */
	static of(geometry: BlockGeometry, indices: Float64Array): BlockBatch {
		return new BlockBatch(geometry, indices);
	}

	/** @internal */
	static geometryOf(batch: BlockBatch): BlockGeometry {
		return batch.#geometry;
	}
}
