import { appendFileSync } from 'node:fs';
import { Client } from '../../../src/client.js';
import type { Context } from '../../../src/context.js';
import { isBellisError } from '../../../src/errors.js';
import type { Dice } from './dice.js';

/** Clients that have a run's secret and are no good: slow, failing, gone with a block in hand. */
export class Guests {
	count = 0;
	readonly #calls: string;
	readonly #visits = new Set<Promise<void>>();

	/** @param calls the log of blocks that were run */
	constructor(calls: string) {
		this.#calls = calls;
	}

	/** One more comes. It takes a block if there is one. */
	come(context: Context, dice: Dice): void {
		const deed = dice.of(['release', 'fail', 'leave', 'look'] as const);
		const visit = this.#visit(context, deed, dice.pick(300))
			.catch((error) => {
				// one that comes too late is turned away
				if (!isBellisError(error, 'ERR_BELLIS_CONNECTION')) throw error;
			})
			.finally(() => this.#visits.delete(visit));
		this.#visits.add(visit);
		this.count++;
	}

	/** Settles when all are gone. */
	async gone(): Promise<void> {
		await Promise.all(this.#visits);
	}

	async #visit(
		context: Context,
		deed: 'release' | 'fail' | 'leave' | 'look',
		ms: number,
	): Promise<void> {
		await using client = new Client(context);
		if (deed === 'look') return;
		const block = await client.acquireBlock();
		if (block === null) return;
		await new Promise((resolve) => setTimeout(resolve, ms));
		if (deed === 'leave') return;
		if (deed === 'fail') {
			client.fail(block, new Error('a guest in a bad mood'));
			return;
		}
		appendFileSync(this.#calls, `${block.index[0]} guest\n`);
		client.release(block);
	}
}
