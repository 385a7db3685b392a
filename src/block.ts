import type { BlockGeometry } from './block-geometry.js';
import type { Roi } from './geometry/roi.js';

/** Where a block is in its life. */
export type BlockStatus = 'created' | 'processing' | 'success' | 'failed';

/**
 * What running a block cost, measured in its worker. Where several blocks run at once in one worker, only the time
 * is known. Memory, bytes read and bytes written are measured on Linux alone, processor time not on Windows.
 */
export interface BlockStats {
	/** Seconds on a monotonic clock. */
	wallSeconds: number;
	/** Seconds of user and system time of the process, helper threads included; NaN where unknown. */
	cpuSeconds: number;
	/** Largest memory of the process while the block ran, in bytes; 0 where unknown. */
	peakRssBytes: number;
	/** Bytes read by the process, cache hits and sockets included; 0 where unknown. */
	ioReadBytes: number;
	/** Bytes written by the process; 0 where unknown. */
	ioWriteBytes: number;
}

/** A block as plain data; `number` is a decimal string, because it may be beyond 2^53. */
export interface PlainBlock {
	/** `taskId/number`, such as `fragments/7`. */
	id: string;
	/** Id of the task that the block belongs to. */
	taskId: string;
	/** Number of the block in its task, in decimal digits. */
	number: string;
	/** Place in the task's `blockGridShape`. */
	index: number[];
	/** What the block reads. */
	readRoi: { offset: number[]; shape: number[] };
	/** What the block writes. */
	writeRoi: { offset: number[]; shape: number[] };
	/** Where it is in its life. */
	status: BlockStatus;
}

/**
 * A piece of a task's volume: what it reads, what it writes and how it's called. It holds no more
 * than its task's geometry and a place in the grid; the rest is worked out when asked for.
 */
export class Block {
	/** Set by whoever runs the block; `'failed'` without a throw counts as a failure too. */
	status: BlockStatus = 'created';
	/** What running it cost, once it was measured. */
	stats: BlockStats | null = null;
	readonly #geometry: BlockGeometry;
	readonly #flatIndex: number | bigint;
	#index: readonly number[] | undefined;
	#readRoi: Roi | undefined;
	#writeRoi: Roi | undefined;

	private constructor(geometry: BlockGeometry, flatIndex: number | bigint) {
		this.#geometry = geometry;
		this.#flatIndex = flatIndex;
	}

	/** Id of the task that the block belongs to. */
	get taskId(): string {
		return this.#geometry.taskId;
	}

	/** `taskId/number`, such as `fragments/7`: the block's name in stores, logs and messages. */
	get id(): string {
		return `${this.#geometry.taskId}/${this.#geometry.numberOf(this.index)}`;
	}

	/** Number of the block in its task, exact. Not dense, and not starting at 0 in general. */
	get number(): bigint {
		return BigInt(this.#geometry.numberOf(this.index));
	}

	/** Place in the task's `blockGridShape`, one entry for each axis. */
	get index(): readonly number[] {
		this.#index ??= Object.freeze(this.#geometry.position(this.#flatIndex));
		return this.#index;
	}

	/** All that the task may read. */
	get totalRoi(): Roi {
		return this.#geometry.totalRoi;
	}

	/** What this block reads: its write region and the context around it. */
	get readRoi(): Roi {
		this.#readRoi ??= this.#geometry.readRoi(this.index);
		return this.#readRoi;
	}

	/** What this block writes. */
	get writeRoi(): Roi {
		this.#writeRoi ??= this.#geometry.writeRoi(this.index);
		return this.#writeRoi;
	}

	/** The block as plain data; `JSON.stringify` calls it. */
	toJSON(): PlainBlock {
		return {
			id: this.id,
			taskId: this.taskId,
			number: this.number.toString(),
			index: [...this.index],
			readRoi: this.readRoi.toJSON(),
			writeRoi: this.writeRoi.toJSON(),
			status: this.status,
		};
	}

	/** `Block fragments/7: reads Roi((0), (12)), writes Roi((1), (10))` */
	toString(): string {
		return `Block ${this.id}: reads ${this.readRoi}, writes ${this.writeRoi}`;
	}

	[Symbol.for('nodejs.util.inspect.custom')](): string {
		return `${this} (${this.status})`;
	}

	/** @internal The only way to make one: schedulers, graphs and clients do. */
	static at(geometry: BlockGeometry, flatIndex: number | bigint): Block {
		return new Block(geometry, flatIndex);
	}

	/** @internal Row-major place in the block grid: what the native side calls a block. */
	static flatIndexOf(block: Block): number | bigint {
		return block.#flatIndex;
	}

	/** @internal */
	static geometryOf(block: Block): BlockGeometry {
		return block.#geometry;
	}
}
