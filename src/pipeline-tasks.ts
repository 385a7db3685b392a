import { Block } from './block.js';
import type { BlockGeometry } from './block-geometry.js';
import { ValidationError } from './errors.js';
import type { NativeTaskSpec } from './native.js';
import type { NativeEdges } from './native-scheduler.js';
import type { Pipeline } from './pipeline.js';
import { showValue } from './show-value.js';
import type { Task } from './task/task.js';

/** The tasks of a pipeline by their positions, which is how the addon names them. */
export class PipelineTasks {
	readonly tasks: readonly Task[];
	readonly specs: NativeTaskSpec[];
	readonly edges: NativeEdges;
	readonly #positions: ReadonlyMap<string, number>;

	constructor(pipeline: Pipeline) {
		this.tasks = pipeline.tasks;
		this.specs = pipeline.tasks.map((task) => task.nativeSpec);
		const places = new Map(pipeline.tasks.map((task, position) => [task, position]));
		this.edges = pipeline.edges.map(([from, to]) => [places.get(from)!, places.get(to)!]);
		this.#positions = new Map(pipeline.tasks.map(({ taskId }, position) => [taskId, position]));
	}

	/** @throws ValidationError for an id that no task has */
	position(taskId: string): number {
		const position = this.#positions.get(taskId);
		if (position !== undefined) return position;
		const known = [...this.#positions.keys()].map((id) => JSON.stringify(id)).join(', ');
		throw new ValidationError(
			`no task has the id ${showValue(taskId)}; there are ${known || 'no tasks'}`,
			{
				path: 'taskId',
				value: taskId,
			},
		);
	}

	/** @throws ValidationError for what isn't a block of one of the tasks */
	positionOf(block: Block): number {
		if (block instanceof Block) {
			const position = this.#positions.get(block.taskId);
			const geometry = Block.geometryOf(block);
			if (position !== undefined && this.tasks[position]!.geometry === geometry) return position;
		}
		throw new ValidationError(`block must be one of these tasks, not ${showValue(block)}`, {
			path: 'block',
			value: block,
		});
	}

	geometry(position: number): BlockGeometry {
		return this.tasks[position]!.geometry;
	}
}
