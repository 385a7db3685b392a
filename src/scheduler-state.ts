import type { Block } from './block.js';
import type { Counters } from './native-scheduler.js';
import { errorText, parsedDetails } from './report/error-text.js';
import type { Task } from './task/task.js';
import type { BlockFailure, TaskState } from './task-state.js';
import { describeError } from './worker/describe-error.js';

/** Failures that are kept in full. */
const KEPT = 100;

/** How far a task of a scheduler has come, read from the scheduler at the moment of asking. */
export class LiveTaskState implements TaskState {
	readonly abandoned = false;
	readonly abandonReason = null;
	readonly workerStarts = 0;
	readonly workerRestarts = 0;
	readonly workerFailures = 0;
	readonly timeouts = 0;
	readonly timeoutMs: number;
	readonly failures: BlockFailure[] = [];
	failedAttempts = 0;
	checkErrors = 0;
	firstError: string | null = null;
	lastError: string | null = null;
	readonly #read: () => Counters;
	readonly #attempts: number;
	#last: Counters | undefined;

	/** @param read gives the counters; it holds the scheduler, which so lives as long as its states */
	constructor(read: () => Counters, task: Task) {
		this.#read = read;
		this.timeoutMs = task.timeoutMs;
		this.#attempts = task.maxRetries + 1;
	}

	get total(): number {
		return this.#counters.total;
	}

	get ready(): number {
		return this.#counters.ready;
	}

	get pending(): number {
		return this.#counters.pending;
	}

	get processing(): number {
		return this.#counters.processing;
	}

	get completed(): number {
		return this.#counters.completed;
	}

	get skipped(): number {
		return this.#counters.skipped;
	}

	get failed(): number {
		return this.#counters.failed;
	}

	get orphaned(): number {
		return this.#counters.orphaned;
	}

	get started(): boolean {
		const { processing, completed, failed } = this.#counters;
		return this.failedAttempts + processing + completed + failed > 0;
	}

	get done(): boolean {
		const { total, completed, failed, orphaned } = this.#counters;
		return completed + failed + orphaned === total;
	}

	/** @internal An attempt at a block failed. Without an error nothing is known but that. */
	failedAttempt(block: Block, permanent: boolean, error: unknown): void {
		this.failedAttempts++;
		const keeps = permanent && this.failures.length < KEPT;
		if (error === undefined && !keeps) return;
		const report = describeError(error ?? new Error('the block was reported as failed'));
		if (error !== undefined) {
			this.lastError = errorText(report);
			this.firstError ??= this.lastError;
		}
		if (!keeps) return;
		this.failures.push({
			taskId: block.taskId,
			block,
			workerId: null,
			attempt: this.#attempts,
			name: report.name,
			message: report.message,
			stack: error === undefined ? null : report.stack,
			cause: parsedDetails(report.details).cause ?? null,
		});
	}

	/** @internal The check function threw, or gave no boolean. */
	checkFailed(): void {
		this.checkErrors++;
	}

	/** @internal Keeps the counters as they are now: the scheduler is about to go. */
	freeze(): void {
		this.#last = this.#counters;
	}

	/** A snapshot as plain data. */
	toJSON(): TaskState {
		const { abandoned, abandonReason, workerStarts, workerRestarts, workerFailures } = this;
		const { timeouts, timeoutMs, failedAttempts, checkErrors, firstError, lastError } = this;
		return {
			...this.#counters,
			started: this.started,
			done: this.done,
			abandoned,
			abandonReason,
			workerStarts,
			workerRestarts,
			workerFailures,
			failedAttempts,
			checkErrors,
			timeouts,
			timeoutMs,
			firstError,
			lastError,
			failures: [...this.failures],
		};
	}

	[Symbol.for('nodejs.util.inspect.custom')](): TaskState {
		return this.toJSON();
	}

	get #counters(): Counters {
		return this.#last ?? this.#read();
	}
}
