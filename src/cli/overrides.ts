import { Pipeline, Task } from '../index.js';

/** The same pipeline with another number of workers for each of its tasks. The tasks given are left as they are. */
export function withMaxWorkers(pipeline: Pipeline, maxWorkers: number | 'auto'): Pipeline {
	const changed = new Map(pipeline.tasks.map((task) => [task, Task.changed(task, { maxWorkers })]));
	return new Pipeline(
		[...changed.values()],
		pipeline.edges.map(([upstream, downstream]) => [
			changed.get(upstream)!,
			changed.get(downstream)!,
		]),
	);
}
