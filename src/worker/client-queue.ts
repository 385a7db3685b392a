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
	readonly #inHand: number[] = [];
	#waiting: Promise<void> | undefined;

	constructor(handle: number) {
		this.handle = handle;
	}

	/** Blocks taken and not settled, in the order in which they were taken. */
	get inHand(): readonly number[] {
		return this.#inHand;
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
		this.#settled(block);
		clientFinish(this.handle, block);
	}

	fail(block: number, error: ErrorReport): void {
		this.#settled(block);
		clientFail(this.handle, block, error);
	}

	#taken(answer: number): number {
		if (answer >= 0) this.#inHand.push(answer);
		return answer;
	}

	#settled(block: number): void {
		const at = this.#inHand.lastIndexOf(block);
		if (at === this.#inHand.length - 1) this.#inHand.pop();
		else if (at >= 0) this.#inHand.splice(at, 1);
	}
}
