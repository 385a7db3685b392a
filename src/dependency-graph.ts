import { Block } from './block.js';
import { ValidationError } from './errors.js';
import {
	graphBlocks,
	graphCount,
	graphDownstream,
	graphFree,
	graphLevel,
	graphLevelCount,
	graphNew,
	graphRootCount,
	graphUpstream,
} from './native-scheduler.js';
import { type PipelinePart, readPipeline } from './pipeline.js';
import { PipelineTasks } from './pipeline-tasks.js';

/** Blocks fetched at once while listing a task. */
const CHUNK = 1024;

const handles = new FinalizationRegistry<number>(graphFree);

/**
 * Which block waits for which, computed from the regions when asked: it holds nothing per block. Pipelines
 * in which a block reads nothing that an upstream task writes are fine here; a run refuses them.
 */
export class DependencyGraph {
	readonly #handle: number;
	readonly #tasks: PipelineTasks;

	/** @throws PipelineError for a cycle or an id that two tasks have */
	constructor(tasks: PipelinePart | readonly PipelinePart[]) {
		this.#tasks = new PipelineTasks(readPipeline(tasks));
		this.#handle = graphNew(this.#tasks.specs, this.#tasks.edges);
		handles.register(this, this.#handle);
	}

	/** Number of blocks of a task, exact. */
	blockCount(taskId: string): bigint {
		return graphCount(this.#handle, this.#tasks.position(taskId));
	}

	/** Number of blocks that wait for no other block of their task. */
	rootCount(taskId: string): bigint {
		return graphRootCount(this.#handle, this.#tasks.position(taskId));
	}

	/** Number of levels: 1 without conflicts, 0 with conflicts and no blocks. */
	levelCount(taskId: string): number {
		return graphLevelCount(this.#handle, this.#tasks.position(taskId));
	}

	/** Level of a block; blocks of level 0 wait for no other block of their task. */
	level(block: Block): number {
		const [task, index] = this.#place(block);
		return graphLevel(this.#handle, task, index);
	}

	/**
	 * All blocks of a task, level by level and row-major in each: the order in which they are handed out. They are
	 * made while they are listed, anew each time.
	 */
	blocks(taskId: string): Iterable<Block> {
		const task = this.#tasks.position(taskId);
		return { [Symbol.iterator]: () => this.#listed(task) };
	}

	*#listed(task: number): Generator<Block, void, undefined> {
		const geometry = this.#tasks.geometry(task);
		for (let after: number | null = null; ; ) {
			const indices: Float64Array = graphBlocks(this.#handle, task, after, CHUNK);
			for (const index of indices) yield Block.at(geometry, index);
			if (indices.length < CHUNK) return;
			after = indices[CHUNK - 1]!;
		}
	}

	/** Blocks that a block waits for: of its own task first, then in pipeline order; by ascending number in each. */
	upstream(block: Block): Block[] {
		const [task, index] = this.#place(block);
		return this.#blocks(graphUpstream(this.#handle, task, index));
	}

	/** Blocks that wait for a block, in the order of {@link upstream}. */
	downstream(block: Block): Block[] {
		const [task, index] = this.#place(block);
		return this.#blocks(graphDownstream(this.#handle, task, index));
	}

	#place(block: Block): [task: number, index: number] {
		const task = this.#tasks.positionOf(block);
		const index = Block.flatIndexOf(block);
		if (typeof index === 'number') return [task, index];
		throw new ValidationError(`block ${block.id} is beyond 2^53 in its grid`, {
			path: 'block',
			value: block,
		});
	}

	#blocks(pairs: Float64Array): Block[] {
		const blocks: Block[] = [];
		for (let i = 0; i < pairs.length; i += 2) {
			blocks.push(Block.at(this.#tasks.geometry(pairs[i]!), pairs[i + 1]!));
		}
		return blocks;
	}
}
