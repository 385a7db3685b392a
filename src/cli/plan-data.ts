import { fileURLToPath } from 'node:url';
import { Block } from '../block.js';
import { isBellisError } from '../errors.js';
import type { FunctionReference } from '../functions/reference.js';
import { DependencyGraph, type Pipeline, type Task } from '../index.js';
import { graphCheckCovered, graphFree, graphNew } from '../native-scheduler.js';
import { storeDoneUnmasked } from '../native-tracking.js';
import { displayOrder } from '../pipeline.js';
import { PipelineTasks } from '../pipeline-tasks.js';
import { type CoverageLayout, uncoveredIntervals, writtenRegion } from '../report/coverage.js';
import type { ResolvedRunOptions } from '../run/options.js';
import { checkBeforeStart } from '../run/start-checks.js';
import { trackingPathOf } from '../tracking/tracking-path.js';

/** Bytes that a store holds for each cell: done and failures. */
const bytesPerCell = 5;
/** What a run takes of one task. */
const mostBlocks = 2n ** 53n;

/** With measurements as well. */
const measuredBytesPerCell = bytesPerCell + 64;

/** A block in a plan. */
export interface PlannedBlock {
	readonly id: string;
	readonly readRoi: PlannedRegion;
	readonly writeRoi: PlannedRegion;
}

/** A region by its corners, half-open. */
export interface PlannedRegion {
	readonly begin: readonly number[];
	readonly end: readonly number[];
}

/** What a run would do with a task. Counts beyond 2^53 are strings in JSON. */
export interface PlannedTask {
	readonly taskId: string;
	readonly upstream: readonly string[];
	/** Where its function is; null for a task that can't be run. */
	readonly function: string | null;
	readonly total: PlannedRegion;
	readonly fit: CoverageLayout['fit'];
	readonly readWriteConflict: boolean;
	/** Extents of a block. */
	readonly readShape: readonly number[];
	readonly writeShape: readonly number[];
	readonly blockGridShape: readonly number[];
	readonly blocks: bigint;
	readonly levels: number;
	/** Blocks that wait for no other of the task. */
	readonly roots: bigint;
	/** What the blocks write together. */
	readonly covered: PlannedRegion;
	/** What no block writes of the total without its context. */
	readonly uncovered: readonly { axis: number; begin: number; end: number }[];
	/** In row-major order; null when there is no block. */
	readonly first: PlannedBlock | null;
	readonly last: PlannedBlock | null;
	readonly maxWorkers: number;
	readonly requires: Readonly<Record<string, number>>;
	readonly store: PlannedStore | null;
	readonly skips: PlannedSkips;
}

/** A task's tracking store. */
export interface PlannedStore {
	readonly path: string;
	readonly exists: boolean;
	readonly done: number;
	readonly failed: number;
	/** Bytes of its arrays when every block was recorded. */
	readonly bytes: number;
	/** Why a run would refuse it; null when it wouldn't. */
	readonly problem: string | null;
}

/** Blocks that a run would not run. */
export interface PlannedSkips {
	/** By the store, and by the mask: a block may be both. */
	readonly done: number;
	readonly masked: number;
	/** By either. */
	readonly blocks: number;
	/** Whether a `checkFunction` may skip more. */
	readonly checked: boolean;
}

/** What a run would do. */
export interface Plan {
	/** In display order. */
	readonly tasks: readonly PlannedTask[];
	readonly edges: readonly (readonly [upstream: string, downstream: string])[];
	/** Why a run would refuse the pipeline; null when it wouldn't. */
	readonly problem: string | null;
}

/** Finds out what a run would do, without running anything or writing any store. */
export async function planOf(pipeline: Pipeline, options: ResolvedRunOptions): Promise<Plan> {
	const graph = new DependencyGraph(pipeline);
	const tasks: PlannedTask[] = [];
	for (const task of displayOrder(pipeline)) {
		tasks.push(await plannedTask(task, pipeline, graph, options.trackingDir));
	}
	const edges = pipeline.edges.map(([up, down]) => [up.taskId, down.taskId] as const);
	return { tasks, edges, problem: refusalOf(pipeline, options) };
}

async function plannedTask(
	task: Task,
	pipeline: Pipeline,
	graph: DependencyGraph,
	trackingDir: string | null,
): Promise<PlannedTask> {
	const { taskId, totalRoi, totalWriteRoi, readRoi, writeRoi, blockGridShape, fit } = task;
	const layout: CoverageLayout = {
		totalWriteOffset: totalWriteRoi.offset.toArray(),
		totalWriteShape: totalWriteRoi.shape.toArray(),
		writeShape: writeRoi.shape.toArray(),
		blockGridShape,
		fit,
	};
	const blocks = graph.blockCount(taskId);
	const store = await plannedStore(task, trackingDir);
	const upstream = pipeline.edges.filter(([, down]) => down === task).map(([up]) => up.taskId);
	return {
		taskId,
		upstream,
		function: functionText(task.functionReference),
		total: regionOf(totalRoi),
		fit,
		readWriteConflict: task.readWriteConflict,
		readShape: readRoi.shape.toArray(),
		writeShape: writeRoi.shape.toArray(),
		blockGridShape,
		blocks,
		levels: graph.levelCount(taskId),
		roots: graph.rootCount(taskId),
		covered: writtenRegion(layout),
		uncovered: uncoveredIntervals(layout),
		first: blocks === 0n ? null : plannedBlock(Block.at(task.geometry, 0)),
		last: blocks === 0n ? null : plannedBlock(Block.at(task.geometry, blocks - 1n)),
		maxWorkers: task.maxWorkers,
		requires: task.requires,
		store,
		skips: await skipsOf(task, store),
	};
}

async function plannedStore(task: Task, trackingDir: string | null): Promise<PlannedStore | null> {
	const path = trackingPathOf(task, { blockTracking: true, trackingDir });
	if (path === null) return null;
	const cells = task.trackingGridShape.reduce((product, cell) => product * cell, 1);
	const bytes = cells * (task.resourceTracking ? measuredBytesPerCell : bytesPerCell);
	try {
		const { exists, done, failed } = await task.status({ trackingDir });
		return { path, exists, done, failed, bytes, problem: null };
	} catch (error) {
		if (!isBellisError(error)) throw error;
		const recreated =
			error.code === 'ERR_BELLIS_LAYOUT_MISMATCH' && task.onLayoutMismatch === 'recreate';
		const problem = recreated ? null : error.message;
		return { path, exists: true, done: 0, failed: 0, bytes, problem };
	}
}

async function skipsOf(task: Task, store: PlannedStore | null): Promise<PlannedSkips> {
	// With verifyDone the function has the last word on every block.
	const done = task.verifyDone ? 0 : (store?.done ?? 0);
	const mask = task.skipBytes;
	const masked = mask?.reduce((count, byte) => count + (byte === 0 ? 0 : 1), 0) ?? 0;
	const doneOnly =
		done > 0 && masked > 0 ? await storeDoneUnmasked(store!.path, task.nativeSpec, mask!) : done;
	return {
		done,
		masked,
		blocks: masked + (doneOnly ?? 0),
		checked: task.checkFunction !== undefined,
	};
}

/** What a run would say to the pipeline before it starts. */
function refusalOf(pipeline: Pipeline, options: ResolvedRunOptions): string | null {
	try {
		checkBeforeStart(pipeline.tasks, options);
		const vast = pipeline.tasks.find(({ geometry }) => geometry.blockCount > mostBlocks);
		if (vast) return `task '${vast.taskId}' has more than 2^53 blocks`;
		const { specs, edges } = new PipelineTasks(pipeline);
		const graph = graphNew(specs, edges);
		try {
			graphCheckCovered(graph);
		} finally {
			graphFree(graph);
		}
		return null;
	} catch (error) {
		if (isBellisError(error)) return error.message;
		throw error;
	}
}

function functionText(reference: FunctionReference | null): string | null {
	if (reference === null) return null;
	const { origin } = reference;
	if (origin.kind === 'inline') return origin.name || 'an inline function';
	const { url, exportName } = origin;
	const file = url.startsWith('file:') ? fileURLToPath(url) : url;
	return exportName === 'default' ? file : `${file} (${exportName})`;
}

function plannedBlock({ id, readRoi, writeRoi }: Block): PlannedBlock {
	return { id, readRoi: regionOf(readRoi), writeRoi: regionOf(writeRoi) };
}

function regionOf({ begin, end }: Task['totalRoi']): PlannedRegion {
	return { begin: begin.toArray(), end: end.toArray() };
}
