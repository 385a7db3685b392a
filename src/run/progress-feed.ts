import { Block } from '../block.js';
import type { NativeBlockFailure, NativeRunSnapshot, NativeTaskState } from '../native.js';
import { displayFor } from '../progress/display.js';
import { deliver, type RunEvent } from '../progress/events.js';
import {
	type Counts,
	orderedCounts,
	type ProgressObserver,
	type TaskCounts,
} from '../progress/observer.js';
import { StallWatch } from '../progress/stall-watch.js';
import type { WaitingState } from '../progress/waiting.js';
import { errorHeadline } from '../report/error-text.js';
import type { Task } from '../task/task.js';
import type { RunListener, RunNotice, WorkerEnd } from './run-listener.js';

/** Between two looks at the counters, in milliseconds. */
const LOOK_MS = 100;

/** What the feed knows of its run besides counters. */
export interface FeedRun {
	/** In the order of the native states. */
	readonly tasks: readonly Task[];
	/** In the order in which they are shown. */
	readonly display: readonly Task[];
	/** Pairs of positions in `tasks`: upstream, downstream. */
	readonly edges: readonly (readonly [number, number])[];
	readonly resources: Readonly<Record<string, number>>;
}

/** Turns what a run tells into events for its observer. An observer's errors never hurt the run. */
export class ProgressFeed implements RunListener {
	readonly #observer: ProgressObserver;
	readonly #run: FeedRun;
	readonly #stalls = new StallWatch();
	#timer: NodeJS.Timeout | undefined;
	#last = '';
	/** The latest counts, from the start to the end. */
	#shown: Counts | null = null;
	/** Whether the run is being stopped. */
	stopping = false;

	constructor(progress: boolean | ProgressObserver, run: FeedRun) {
		this.#observer = displayFor(progress);
		this.#run = run;
	}

	/** Whether the observer writes to stdout, so that a summary must not. */
	get writesToStdout(): boolean {
		return (this.#observer as { writesToStdout?: boolean }).writesToStdout === true;
	}

	/**
	 * Says that the run has begun, and looks at its counters from now on.
	 *
	 * @param look gives null when there is nothing to see
	 */
	start(look: () => NativeRunSnapshot | null): void {
		const states = look()?.tasks ?? this.#run.tasks.map(notBegun);
		this.#shown = this.#counts(states);
		this.#send({ type: 'start', time: now(), states: this.#shown });
		this.#timer = setInterval(() => {
			const snapshot = look();
			if (!snapshot) return;
			this.#progress(snapshot.tasks);
			this.#watch(snapshot);
		}, LOOK_MS);
	}

	/** Says how it ended. */
	finish(states: readonly NativeTaskState[]): void {
		this.#progress(states);
		this.close();
	}

	/** Ends what was started and not finished, with the latest counts: bars must not outlive their run. */
	close(): void {
		clearInterval(this.#timer);
		if (this.#shown === null) return;
		this.#send({ type: 'finish', time: now(), states: this.#shown });
		this.#shown = null;
	}

	onWorkerStarted({ taskId }: Task, workerId: number): void {
		this.#send({ type: 'workerStarted', time: now(), taskId, workerId });
	}

	onWorkerExited({ taskId }: Task, workerId: number, { reason, clean }: WorkerEnd): void {
		this.#send({ type: 'workerExited', time: now(), taskId, workerId, reason, clean });
	}

	onFailure(task: Task, failure: NativeBlockFailure): void {
		this.#send({
			type: 'failure',
			time: failure.at,
			taskId: task.taskId,
			blockId: failure.block === null ? null : Block.at(task.geometry, failure.block).id,
			attempt: failure.attempt,
			permanent: failure.permanent,
			message: errorHeadline(failure.error),
		});
	}

	onNotice(task: Task | null, { level, code, message }: RunNotice): void {
		const taskId = task?.taskId ?? null;
		this.#send({ type: 'notice', time: now(), level, code, taskId, message });
	}

	#progress(states: readonly NativeTaskState[]): void {
		const counts = this.#counts(states);
		// nothing happened: nothing to say
		const key = JSON.stringify(counts);
		if (key === this.#last) return;
		this.#last = key;
		this.#shown = counts;
		this.#send({ type: 'progress', time: now(), states: counts });
	}

	#watch(snapshot: NativeRunSnapshot): void {
		const message = this.#stalls.update(this.#waiting(snapshot));
		if (message) this.onNotice(null, { level: 'info', code: 'waiting', message });
	}

	#waiting({ tasks: states, oldestRunning }: NativeRunSnapshot): WaitingState {
		const { tasks, display, edges, resources } = this.#run;
		const oldest = oldestRunning && {
			blockId: Block.at(tasks[oldestRunning.task]!.geometry, oldestRunning.block).id,
			workerId: oldestRunning.worker,
			ageSeconds: oldestRunning.age,
		};
		return {
			tasks: display.map((task) => {
				const at = tasks.indexOf(task);
				const state = states[at]!;
				return {
					taskId: task.taskId,
					counts: countsOf(state),
					startingWorkers: state.startingWorkers,
					connectedWorkers: state.connectedWorkers,
					idleWorkers: state.idleWorkers,
					endingWorkers: state.endingWorkers,
					waitsForResources: state.waitsForResources,
					requires: task.requires,
					upstream: edges.filter(([, down]) => down === at).map(([up]) => tasks[up]!.taskId),
				};
			}),
			resources,
			oldestRunning: oldest,
			stopping: this.stopping,
		};
	}

	#counts(states: readonly TaskCounts[]): Counts {
		const { tasks, display } = this.#run;
		return orderedCounts(
			display.map((task) => [task.taskId, countsOf(states[tasks.indexOf(task)]!)]),
		);
	}

	#send(event: RunEvent): void {
		deliver(this.#observer, event);
	}
}

/** What is known of a task before anything was seen of it. */
function notBegun(task: Task): TaskCounts {
	const total = Number(task.geometry.blockCount);
	return {
		total,
		ready: 0,
		pending: total,
		processing: 0,
		completed: 0,
		skipped: 0,
		failed: 0,
		orphaned: 0,
		workerRestarts: 0,
		workerFailures: 0,
		started: false,
		done: false,
		abandoned: false,
	};
}

function countsOf(state: TaskCounts): TaskCounts {
	const { total, ready, pending, processing, completed, skipped, failed, orphaned } = state;
	const { workerRestarts, workerFailures, started, done, abandoned } = state;
	return {
		total,
		ready,
		pending,
		processing,
		completed,
		skipped,
		failed,
		orphaned,
		workerRestarts,
		workerFailures,
		started,
		done,
		abandoned,
	};
}

function now(): number {
	return Date.now() / 1000;
}
