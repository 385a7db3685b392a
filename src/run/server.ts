import { ValidationError } from '../errors.js';
import type { TaskState } from '../task-state.js';
import { executeRun, type RunInput } from './execute.js';
import type { RunBlockwiseOptions } from './run-blockwise.js';

/**
 * Runs pipelines and gives the states of their tasks, also of those that were abandoned. Disposing of it
 * ends its runs.
 */
export class Server implements AsyncDisposable {
	readonly #closing = new AbortController();
	readonly #runs = new Set<Promise<unknown>>();

	/**
	 * As `runBlockwise`, but resolves with the tasks' states by id, which say `abandoned` where a task
	 * was given up.
	 */
	async runBlockwise(
		input: RunInput,
		options: RunBlockwiseOptions = {},
	): Promise<Record<string, TaskState>> {
		if (this.#closing.signal.aborted) {
			throw new ValidationError('the server is closed', { path: 'server' });
		}
		const closing = this.#closing.signal;
		const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing;
		const run = executeRun(input, { ...options, signal });
		this.#runs.add(run);
		try {
			return (await run).states;
		} finally {
			this.#runs.delete(run);
		}
	}

	/** Ends the runs that go on and waits for them. */
	async close(): Promise<void> {
		this.#closing.abort(new Error('the server was closed'));
		await Promise.allSettled(this.#runs);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}
}
