import { basename, resolve } from 'node:path';
import { Block } from '../block.js';
import { BlockGeometry } from '../block-geometry.js';
import { StoreError } from '../errors.js';
import { ravel, unravel } from '../geometry/flat-index.js';
import { Roi } from '../geometry/roi.js';
import type { NativeRoi, NativeTaskSpec } from '../native.js';
import {
	storeBlock,
	storeFailedCells,
	storeReset,
	storeResetFailed,
	storeStatus,
} from '../native-tracking.js';
import { boolean, filePath } from '../option-checks.js';
import { option, readOptions } from '../option-table.js';
import { readReport } from './read-report.js';
import type { BlockRecord, TaskReport } from './task-report.js';

/** What a tracking store says about its task, without a run. */
export interface StoreStatus {
	/** Directory of the store. */
	readonly path: string;
	/** Whether there is a store; without one nothing is done. */
	readonly exists: boolean;
	/** Blocks of the task; null where neither task nor store says so. */
	readonly blocks: number | null;
	/** Blocks that are done. */
	readonly done: number;
	/** Blocks that failed and are not done. */
	readonly failed: number;
	/** Failed attempts, of all blocks and runs. */
	readonly failedAttempts: number;
	/** Whether it holds measurements. */
	readonly hasResources: boolean;
	/** What it knows the layout by; null without a store, and for one made by hand. */
	readonly layoutHash: string | null;
	/** The run that holds the store now; null when none does. */
	readonly heldBy: { readonly host: string; readonly pid: number; readonly since: number } | null;
}

/** A block that failed in some run and is not done. */
export interface FailedBlock {
	/** Such as `fragments/7`; null for a store that doesn't know its layout. */
	readonly id: string | null;
	/** Null for a store that doesn't know its layout. */
	readonly block: Block | null;
	/** Where it stands in the arrays of the store. */
	readonly cell: readonly number[];
	/** Failed attempts, of all runs. */
	readonly attempts: number;
}

/** What is to be reset. */
export interface StoreResetOptions {
	/** Forget the failed attempts of blocks that aren't done, and keep everything else. Default false. */
	failed?: boolean | undefined;
}

const RESET_OPTIONS = { failed: option(boolean, false) };

/** What is known of a store's task. */
interface KnownTask {
	readonly geometry: BlockGeometry;
	readonly spec: NativeTaskSpec;
}

/**
 * The directory that remembers what a task has done, to look into and to remove. Runs use it by
 * themselves.
 */
export class TrackingStore {
	/** Directory of the store, absolute. */
	readonly path: string;
	/** The task's geometry; null for a store that doesn't know its layout. */
	readonly #geometry: BlockGeometry | null;
	/** For the store of a task: what the store must have been written for. */
	readonly #spec: NativeTaskSpec | null;

	private constructor(path: string, geometry: BlockGeometry | null, spec: NativeTaskSpec | null) {
		this.path = path;
		this.#geometry = geometry;
		this.#spec = spec;
	}

	/**
	 * Opens the store in a directory. Its task is called like the directory.
	 *
	 * @throws StoreError when there is none, or what is there can't be read
	 */
	static async open(path: string | URL): Promise<TrackingStore> {
		const directory = resolve(filePath(path, 'path'));
		const status = await storeStatus(directory, null);
		if (status === null) {
			throw new StoreError(`there is no tracking store in ${directory}`, { path: directory });
		}
		const { layout } = status;
		const geometry =
			layout &&
			new BlockGeometry({
				taskId: basename(directory),
				totalRoi: roiOf(layout.totalRoi),
				readRoi: roiOf(layout.readRoi),
				writeRoi: roiOf(layout.writeRoi),
				fit: layout.fit,
			});
		return new TrackingStore(directory, geometry, null);
	}

	/** @internal The store of a task, which may not exist yet. */
	static ofTask(path: string, { geometry, spec }: KnownTask): TrackingStore {
		return new TrackingStore(path, geometry, spec);
	}

	/**
	 * How far the task has come, in all runs together.
	 *
	 * @throws LayoutMismatchError for the store of a task that was written for another layout
	 */
	async status(): Promise<StoreStatus> {
		const status = await storeStatus(this.path, this.#spec);
		return {
			path: this.path,
			exists: status !== null,
			blocks:
				this.#geometry === null ? (status?.blocks ?? null) : Number(this.#geometry.blockCount),
			done: status?.done ?? 0,
			failed: status?.failed ?? 0,
			failedAttempts: status?.failedAttempts ?? 0,
			hasResources: status?.hasResources ?? false,
			layoutHash: status?.layoutHash ?? null,
			heldBy: status?.heldBy ?? null,
		};
	}

	/**
	 * The blocks that failed in some run and are not done, in row-major order; none without a store.
	 * Blocks that never ran because of them are not among them.
	 */
	async failedBlocks(): Promise<FailedBlock[]> {
		const failed = await storeFailedCells(this.path, this.#spec);
		if (failed === null) return [];
		const shape = this.#geometry?.trackingGridShape ?? (await this.#gridShape());
		return Array.from(failed.cells, (flat, i) => {
			const cell = unravel(flat, shape);
			const block = this.#blockAt(cell);
			return { id: block?.id ?? null, block, cell, attempts: failed.attempts[i]! };
		});
	}

	/**
	 * What the last run did, as it was recorded in the store.
	 *
	 * @throws StoreError when no run was recorded
	 */
	report(): Promise<TaskReport> {
		return readReport({ store: this, spec: this.#spec, logFolder: null });
	}

	/**
	 * Removes the store, or with `failed: true` forgets its failed attempts. Nothing but what belongs
	 * to a tracking store is removed.
	 *
	 * @returns its path; null when there was none
	 * @throws ValidationError for an unknown option, before anything is forgotten
	 * @throws StoreLockedError while a run holds it
	 * @throws StoreError when the directory is no tracking store
	 */
	async reset(options: StoreResetOptions = {}): Promise<string | null> {
		const { failed } = readOptions(options, RESET_OPTIONS, { what: 'option' });
		if (!failed) return (await storeReset(this.path)) ? this.path : null;
		if ((await storeStatus(this.path, this.#spec)) === null) return null;
		await storeResetFailed(this.path);
		return this.path;
	}

	/** @internal What the store holds about a block; null without a store. */
	async blockRecord(block: Block): Promise<BlockRecord | null> {
		const { trackingGridShape } = Block.geometryOf(block);
		const cell = ravel(Block.geometryOf(block).cellOf(block.index), trackingGridShape);
		return storeBlock(this.path, this.#spec, Number(cell));
	}

	async #gridShape(): Promise<readonly number[]> {
		return (await storeStatus(this.path, this.#spec))?.gridShape ?? [];
	}

	#blockAt(cell: readonly number[]): Block | null {
		const position = this.#geometry?.positionOf(cell) ?? null;
		if (this.#geometry === null || position === null) return null;
		return Block.at(this.#geometry, this.#geometry.indexOf(position));
	}
}

function roiOf({ offset, shape }: NativeRoi): Roi {
	return new Roi(offset, shape);
}
