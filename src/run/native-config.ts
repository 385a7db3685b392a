import { availableParallelism } from 'node:os';
import { serialize } from 'node:v8';
import { encodeFunction } from '../functions/reference.js';
import type { NativeRunConfig, NativeRunTask } from '../native.js';
import type { Pipeline } from '../pipeline.js';
import type { Task } from '../task/task.js';
import { trackingPathOf } from '../tracking/tracking-path.js';
import type { ResolvedRunOptions } from './options.js';

/** Failures of a task that a run keeps; the rest is counted. */
const FAILURES_KEPT = 100;

/**
 * What the native side is told about a run.
 *
 * @throws FunctionError when a function can't go to worker processes
 */
export function nativeConfig(
	pipeline: Pipeline,
	options: ResolvedRunOptions,
	runId: string,
): NativeRunConfig {
	return {
		tasks: pipeline.tasks.map((task) => nativeTask(task, options)),
		edges: nativeEdges(pipeline),
		resources: { ...options.resources },
		order: options.order,
		maxFailures: options.maxFailures ?? null,
		failFast: options.failFast,
		shutdownGraceMs: options.shutdownGraceMs,
		host: options.host ?? (process.env.BELLIS_HOST || null),
		runId,
		logDir: options.logDir,
		failuresKept: Math.max(FAILURES_KEPT, options.failuresShown),
		cores: availableParallelism(),
	};
}

/** A pipeline's edges as pairs of positions. */
export function nativeEdges({ tasks, edges }: Pipeline): [number, number][] {
	const positions = new Map(tasks.map((task, at) => [task, at]));
	return edges.map(([up, down]) => [positions.get(up)!, positions.get(down)!]);
}

function nativeTask(task: Task, options: ResolvedRunOptions): NativeRunTask {
	return {
		spec: task.nativeSpec,
		maxWorkers: task.maxWorkers,
		maxWorkerRestarts: task.maxWorkerRestarts,
		timeoutMs: task.timeoutMs,
		requires: { ...task.requires },
		priority: task.priority,
		retryDelayMs: task.retryDelayMs,
		onBlockError: task.onBlockError,
		connectTimeoutMs: task.launcher === undefined ? null : task.connectTimeoutMs,
		concurrency: task.concurrency,
		local: task.launcher === undefined,
		trackingPath: trackingPathOf(task, options),
		resourceTracking: task.resourceTracking && options.blockTracking,
		onLayoutMismatch: task.onLayoutMismatch,
		grownFrom: task.grownFrom
			? { offset: task.grownFrom.offset.toArray(), shape: task.grownFrom.shape.toArray() }
			: null,
		skipMask: task.skipBytes,
		hasCheck: task.checkFunction !== undefined,
		verifyDone: task.verifyDone,
		// in serial mode the function stays where it is
		functionReference: options.multiprocessing
			? encodeFunction(task.functionReference!, task.taskId)
			: '',
		config: task.config === undefined ? null : serialize(task.config),
	};
}
