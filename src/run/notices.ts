import type { NativeRunConfig, NativeTaskState } from '../native.js';
import { noBlocksText, resumedText, uncoveredRimText } from '../progress/notices.js';
import type { Task } from '../task/task.js';
import type { RunListener } from './run-listener.js';

/** Says what is odd about the tasks before they run: those without a block, and rims that no block writes. */
export function startNotices(listener: RunListener, tasks: readonly Task[]): void {
	for (const task of tasks) {
		const { blockGridShape, totalWriteRoi, writeRoi, totalRoi, readRoi, fit } = task;
		if (blockGridShape.includes(0)) {
			const message = noBlocksText({
				totalShape: totalRoi.shape.toArray(),
				readShape: readRoi.shape.toArray(),
				fit,
			});
			listener.onNotice(task, { level: 'warning', code: 'no-blocks', message });
		}
		const rim = uncoveredRimText({
			totalWriteOffset: totalWriteRoi.offset.toArray(),
			totalWriteShape: totalWriteRoi.shape.toArray(),
			writeShape: writeRoi.shape.toArray(),
			blockGridShape,
			fit,
		});
		if (rim) listener.onNotice(task, { level: 'warning', code: 'uncovered-rim', message: rim });
	}
}

/** Says how many blocks each task skipped and by whose word: once a task, as soon as the count has come to rest. */
export class ResumedNotices {
	readonly #listener: RunListener;
	readonly #tasks: readonly Task[];
	readonly #config: NativeRunConfig;
	readonly #seen: number[];
	readonly #told = new Set<number>();

	constructor(listener: RunListener, tasks: readonly Task[], config: NativeRunConfig) {
		this.#listener = listener;
		this.#tasks = tasks;
		this.#config = config;
		this.#seen = tasks.map(() => 0);
	}

	/** Takes in the counts of now; to be called several times a second. */
	look(states: readonly NativeTaskState[]): void {
		for (const [at, { skipped, done }] of states.entries()) {
			if (done || skipped === this.#seen[at]) this.#tell(at, states[at]!, done);
			this.#seen[at] = skipped;
		}
	}

	/** Says what hasn't been said. */
	finish(states: readonly NativeTaskState[]): void {
		for (const [at, state] of states.entries()) this.#tell(at, state, true);
	}

	#tell(at: number, { skipped, total }: NativeTaskState, final: boolean): void {
		if (skipped === 0 || this.#told.has(at)) return;
		this.#told.add(at);
		const { trackingPath, skipMask, hasCheck } = this.#config.tasks[at]!;
		// later blocks of these are asked about when they are ready
		const mayGrow = hasCheck || this.#config.edges.some(([, downstream]) => downstream === at);
		const message = resumedText({
			skipped,
			total,
			storePath: trackingPath,
			hasMask: skipMask !== null,
			hasCheck,
			soFar: mayGrow && !final,
		});
		this.#listener.onNotice(this.#tasks[at]!, { level: 'info', code: 'resumed', message });
	}
}

/** What ends a run for its failures. */
export interface FailureLimits {
	readonly failFast: boolean;
	readonly maxFailures: number | undefined;
}

/** Says once that so many blocks failed for good that the run ends, while something is left that it would have done. */
export class FailureLimit {
	readonly #listener: RunListener;
	readonly #limit: number;
	readonly #option: string;
	#told = false;

	constructor(listener: RunListener, { failFast, maxFailures }: FailureLimits) {
		this.#listener = listener;
		this.#limit = failFast ? 1 : (maxFailures ?? Number.POSITIVE_INFINITY);
		this.#option = failFast ? 'failFast' : `maxFailures: ${maxFailures}`;
	}

	/** Takes in the counts of now, and the last ones; true from when the limit was reached. */
	look(states: readonly Pick<NativeTaskState, 'failed' | 'done' | 'abandoned'>[]): boolean {
		const failed = states.reduce((sum, state) => sum + state.failed, 0);
		if (failed < this.#limit) return false;
		if (!this.#told && states.some(({ done, abandoned }) => !done && !abandoned)) {
			this.#told = true;
			const message = `${failed} block${failed === 1 ? ' has' : 's have'} failed for good, and ${this.#option} ends the run: no more blocks are handed out`;
			this.#listener.onNotice(null, { level: 'warning', code: 'stopping', message });
		}
		return this.#told;
	}
}
