import type { ErrorReport } from '../error-report.js';
import {
	clientFail,
	clientFinish,
	clientTake,
	clientTakeWait,
	clientWait,
} from '../native-client.js';
import type { BlockQueue } from './block-loop.js';

/** The block queue of a native client, which also knows what is in hand. */
export class ClientQueue implements BlockQueue {
	/** The native client, by number. */
	readonly handle: number;
	/** Blocks taken and not settled. */
	inHand = 0;
	/** The block taken last: the one in hand when `inHand` is 1 and blocks run one by one. */
	current = -1;
	#waiting: Promise<void> | undefined;

	constructor(handle: number) {
		this.handle = handle;
	}

	take(): number {
		return this.#taken(clientTake(this.handle));
	}

	takeWait(maxWaitMs: number): number {
		return this.#taken(clientTakeWait(this.handle, maxWaitMs));
	}

	/** Several may wait at once; the native client knows of one. */
	wait(): Promise<void> {
		this.#waiting ??= clientWait(this.handle).finally(() => {
			this.#waiting = undefined;
		});
		return this.#waiting;
	}

	finish(block: number): void {
		this.inHand--;
		clientFinish(this.handle, block);
	}

	fail(block: number, error: ErrorReport): void {
		this.inHand--;
		clientFail(this.handle, block, error);
	}

	#taken(answer: number): number {
		if (answer >= 0) {
			this.inHand++;
			this.current = answer;
		}
		return answer;
	}
}
