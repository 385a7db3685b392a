import { clientExiting, clientFlush, clientUnusable } from '../native-client.js';
import type { ClientQueue } from './client-queue.js';
import { describeError } from './describe-error.js';

/** How long an exit may be held up to tell the driver what happened. */
const FLUSH_MS = 1000;

/**
 * Notices when user code ends the worker's process: by `process.exit`, or by an error that nobody
 * caught. The block in hand is reported as failed with what is known, before the process is gone; without
 * one the driver is told why the worker ends. Where several are in hand none can be blamed, and the driver
 * sees the connection end.
 */
export class ExitWatch {
	readonly #queues: ReadonlySet<ClientQueue>;
	#expected = false;
	#uncaught: { error: unknown } | undefined;

	constructor(queues: ReadonlySet<ClientQueue>) {
		this.#queues = queues;
		process.on('uncaughtExceptionMonitor', (error) => {
			this.#uncaught = { error };
		});
		process.on('exit', (code) => {
			if (!this.#expected) this.#report(code);
		});
	}

	/** Ends the process in order: sends what is queued, and reports nothing. */
	exit(code: number): never {
		this.#expected = true;
		for (const { handle } of this.#queues) clientFlush(handle, FLUSH_MS);
		process.exit(code);
	}

	#report(code: number): void {
		for (const queue of this.#queues) {
			const [block, ...others] = queue.inHand;
			const where = block === undefined ? 'with no block in hand' : 'in the middle of the block';
			const error = this.#uncaught ? this.#uncaught.error : exitError(code, where);
			if (block === undefined) {
				// nobody's block, but why the worker ends
				if (code !== 0) clientUnusable(queue.handle, false, describeError(error));
			} else if (others.length === 0) {
				queue.fail(block, describeError(error));
			}
			clientExiting(queue.handle, code);
			clientFlush(queue.handle, FLUSH_MS);
		}
	}
}

/** An error whose stack shows who called `process.exit`. */
export function exitError(code: number, where: string): Error {
	const error = new Error(`the worker's process exited with code ${code} ${where}`);
	error.name = 'ProcessExit';
	const lines = (error.stack ?? '').split('\n');
	const caller = lines.findIndex((line) => /^\s+at process\.(exit|reallyExit) /.test(line));
	const frames = caller < 0 ? [] : lines.slice(caller + 1);
	error.stack = [`${error.name}: ${error.message}`, ...frames].join('\n');
	return error;
}
