import type { NativeRunConfig } from '../../src/native.js';
import type { TaskOptions } from '../../src/task/options.js';
import { task } from '../task/tasks.js';

/** What the addon is told about a run of four blocks, with some options changed. */
export function configFor(
	options: Partial<TaskOptions> = {},
	native: Partial<NativeRunConfig['tasks'][number]> = {},
): NativeRunConfig {
	const made = task('four', options);
	return {
		tasks: [
			{
				spec: made.nativeSpec,
				maxWorkers: made.maxWorkers,
				maxWorkerRestarts: made.maxWorkerRestarts,
				timeoutMs: made.timeoutMs,
				requires: {},
				priority: 0,
				retryDelayMs: 0,
				onBlockError: 'keep-worker',
				connectTimeoutMs: null,
				concurrency: 1,
				local: true,
				trackingPath: null,
				resourceTracking: false,
				onLayoutMismatch: 'error',
				grownFrom: null,
				skipMask: made.skipBytes,
				hasCheck: made.checkFunction !== undefined,
				verifyDone: false,
				functionReference: 'a function',
				config: Uint8Array.of(1, 2, 3),
				...native,
			},
		],
		edges: [],
		resources: {},
		order: null,
		maxFailures: null,
		failFast: false,
		shutdownGraceMs: 100,
		host: null,
		runId: '0123456789abcdef',
		logDir: null,
		failuresKept: 10,
		cores: 1,
	};
}
