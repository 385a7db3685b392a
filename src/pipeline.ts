import { PipelineError, ValidationError } from './errors.js';
import { showValue } from './show-value.js';
import type { Task } from './task/task.js';
import type { TaskResetOptions } from './task/task-store.js';

/** @internal Marks tasks, so that this module needs no import of their class. */
export const TASK_BRAND: unique symbol = Symbol.for('bellis.task');

/** What can be put together to a pipeline. */
export type PipelinePart = Task | Pipeline;

/** A pair of tasks: blocks of the second wait for those of the first whose output they read. */
export type Edge = readonly [upstream: Task, downstream: Task];

/**
 * Tasks and which of them waits for which. Nothing changes a pipeline; putting pipelines together
 * makes a new one, in which the same task object appears once.
 */
export class Pipeline {
	/** In the order given. */
	readonly tasks: readonly Task[];
	/** Pairs of an upstream task and a task that reads what it writes, each once. */
	readonly edges: readonly Edge[];

	/**
	 * @throws PipelineError for a task listed twice, and an edge to a task that isn't listed
	 */
	constructor(tasks: readonly Task[], edges: readonly Edge[] = []) {
		if (!Array.isArray(tasks)) throw notA('tasks', 'an array of tasks', tasks);
		if (!Array.isArray(edges)) throw notA('edges', 'an array of [upstream, downstream]', edges);
		const listed = new Set<Task>();
		for (const [i, task] of tasks.entries()) {
			requireTask(task, `tasks[${i}]`);
			if (listed.has(task)) {
				throw new PipelineError(`task ${JSON.stringify(task.taskId)} is listed twice`, {
					taskIds: [task.taskId],
				});
			}
			listed.add(task);
		}
		for (const [i, edge] of edges.entries()) {
			if (!Array.isArray(edge) || edge.length !== 2) {
				throw notA(`edges[${i}]`, 'a pair [upstream, downstream]', edge);
			}
			for (const [j, end] of edge.entries()) {
				requireTask(end, `edges[${i}][${j}]`);
				if (listed.has(end)) continue;
				throw new PipelineError(
					`edges[${i}][${j}], task ${JSON.stringify(end.taskId)}, is not among the tasks`,
					{ taskIds: [end.taskId] },
				);
			}
		}
		this.tasks = Object.freeze([...tasks]);
		this.edges = Object.freeze(distinctEdges(edges));
		Object.freeze(this);
	}

	/** Tasks that wait for no other. */
	get sources(): readonly Task[] {
		const waiting = new Set(this.edges.map(([, downstream]) => downstream));
		return this.tasks.filter((task) => !waiting.has(task));
	}

	/** Tasks that no other waits for. */
	get outputs(): readonly Task[] {
		const waitedFor = new Set(this.edges.map(([upstream]) => upstream));
		return this.tasks.filter((task) => !waitedFor.has(task));
	}

	/**
	 * Resets each task by itself; one that fails keeps none of the others from being reset.
	 *
	 * @returns for each task id the path of its store; null where there was none
	 * @throws the error of the only task that failed, or an AggregateError
	 */
	async reset(options: TaskResetOptions = {}): Promise<Record<string, string | null>> {
		const results = await Promise.allSettled(this.tasks.map((task) => task.reset(options)));
		const errors = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
		if (errors.length === 1) throw errors[0];
		if (errors.length > 1)
			throw new AggregateError(errors, `${errors.length} tasks can't be reset`);
		const paths = results.map((one) => (one.status === 'fulfilled' ? one.value : null));
		return Object.fromEntries(this.tasks.map(({ taskId }, i) => [taskId, paths[i]!]));
	}

	/** This pipeline, and then each of the others: their sources wait for its outputs. */
	chain(...others: PipelinePart[]): Pipeline {
		return chain(this, ...others);
	}

	/** This pipeline and the others side by side, without waiting for each other. */
	parallel(...others: PipelinePart[]): Pipeline {
		return parallel(this, ...others);
	}
}

/**
 * One after the other: every source of a part waits for every output of the part before it. A block
 * waits only for the blocks whose output it reads.
 */
export function chain(...parts: PipelinePart[]): Pipeline {
	const pipelines = parts.map((part, i) => pipelineOf(part, `parts[${i}]`));
	const edges = pipelines.flatMap((pipeline) => pipeline.edges);
	// a part without tasks has no place in the order
	const stages = pipelines.filter((pipeline) => pipeline.tasks.length > 0);
	for (const [i, stage] of stages.entries()) {
		for (const upstream of stages[i - 1]?.outputs ?? []) {
			for (const downstream of stage.sources) edges.push([upstream, downstream]);
		}
	}
	return new Pipeline(distinctTasks(pipelines), edges);
}

/** Side by side: no part waits for another. */
export function parallel(...parts: PipelinePart[]): Pipeline {
	const pipelines = parts.map((part, i) => pipelineOf(part, `parts[${i}]`));
	return new Pipeline(
		distinctTasks(pipelines),
		pipelines.flatMap((pipeline) => pipeline.edges),
	);
}

/**
 * What a run takes as a pipeline: a task, a pipeline, or an array of both, side by side.
 *
 * @internal
 * @throws PipelineError for a task id that two tasks have, and for a cycle
 */
export function readPipeline(
	value: PipelinePart | readonly PipelinePart[],
	path = 'tasks',
): Pipeline {
	const pipeline = Array.isArray(value)
		? parallel(...value.map((part, i) => pipelineOf(part, `${path}[${i}]`)))
		: pipelineOf(value, path);
	requireDistinctIds(pipeline);
	displayOrder(pipeline);
	return pipeline;
}

/**
 * The tasks in the order in which they are shown: again and again the alphabetically first one whose
 * upstream tasks have all been shown.
 *
 * @internal
 * @throws PipelineError for a cycle
 */
export function displayOrder(pipeline: Pipeline): Task[] {
	const shown: Task[] = [];
	const left = new Set([...pipeline.tasks].sort((a, b) => (a.taskId < b.taskId ? -1 : 1)));
	while (left.size > 0) {
		const blocked = new Set(pipeline.edges.flatMap(([up, down]) => (left.has(up) ? [down] : [])));
		const next = [...left].find((task) => !blocked.has(task));
		if (next === undefined) throw cycleError(pipeline, left);
		shown.push(next);
		left.delete(next);
	}
	return shown;
}

function cycleError(pipeline: Pipeline, among: ReadonlySet<Task>): PipelineError {
	// each of these waits for another one of them, so going upstream comes back some time
	const path: Task[] = [...among].slice(0, 1);
	for (;;) {
		const last = path.at(-1)!;
		const up = pipeline.edges.find(([from, to]) => to === last && among.has(from))![0];
		const start = path.indexOf(up);
		path.push(up);
		if (start >= 0) {
			const taskIds = path
				.slice(start)
				.reverse()
				.map((task) => task.taskId);
			return new PipelineError(`the pipeline has a cycle: ${taskIds.join(' -> ')}`, {
				taskIds,
			});
		}
	}
}

function requireDistinctIds(pipeline: Pipeline): void {
	const ids = new Set<string>();
	for (const { taskId } of pipeline.tasks) {
		if (ids.has(taskId)) {
			throw new PipelineError(
				`two tasks have the id ${JSON.stringify(taskId)}: give each its own`,
				{ taskIds: [taskId] },
			);
		}
		ids.add(taskId);
	}
}

function pipelineOf(value: unknown, path: string): Pipeline {
	if (value instanceof Pipeline) return value;
	requireTask(value, path, 'a Task or a Pipeline');
	return new Pipeline([value]);
}

function requireTask(value: unknown, path: string, wanted = 'a Task'): asserts value is Task {
	const task =
		typeof value === 'object' && value !== null && (value as Partial<Task>)[TASK_BRAND] === true;
	if (!task) throw notA(path, wanted, value);
}

function notA(path: string, wanted: string, value: unknown): ValidationError {
	return new ValidationError(`${path} must be ${wanted}, not ${showValue(value)}`, {
		path,
		value,
	});
}

function distinctTasks(pipelines: readonly Pipeline[]): Task[] {
	return [...new Set(pipelines.flatMap((pipeline) => pipeline.tasks))];
}

function distinctEdges(edges: readonly Edge[]): Edge[] {
	const downstreams = new Map<Task, Set<Task>>();
	return edges
		.filter(([up, down]) => {
			const known = downstreams.get(up) ?? new Set();
			downstreams.set(up, known);
			return !known.has(down) && known.add(down);
		})
		.map(([up, down]) => Object.freeze([up, down]) as Edge);
}
