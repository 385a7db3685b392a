import type { ErrorReport } from '../error-report.js';
import { describeError } from '../worker/describe-error.js';

/** What a check function said about a block. */
export const NOT_DONE = 0;
export const DONE = 1;
/** It threw, or gave no boolean: the block runs, and the error is counted. */
export const CHECK_FAILED = 2;

/** Answers for a list of blocks, in its order. */
export interface CheckAnswers {
	readonly answers: Uint8Array;
	/** The first thing that went wrong; null when nothing did. */
	readonly firstError: ErrorReport | null;
}

/** A user's check function: whether a block is done. May be asynchronous. */
export type CheckFunction<B> = (block: B) => boolean | PromiseLike<boolean>;

/** Asynchronous checks that run at once. */
const AT_ONCE = 64;
/** After how long at the latest the event loop gets a turn between synchronous checks. */
const YIELD_MS = 10;

/** Asks the check function about each block. Never rejects: what goes wrong is an answer. */
export async function checkBlocks<B>(
	check: CheckFunction<B>,
	blocks: readonly B[],
): Promise<CheckAnswers> {
	const answers = new Uint8Array(blocks.length);
	let firstError: ErrorReport | null = null;
	let firstErrorAt = Number.POSITIVE_INFINITY;
	const failed = (at: number, error: unknown) => {
		answers[at] = CHECK_FAILED;
		if (at < firstErrorAt) {
			firstErrorAt = at;
			firstError = describeError(error);
		}
	};
	const answered = (at: number, answer: unknown) => {
		if (typeof answer === 'boolean') answers[at] = answer ? DONE : NOT_DONE;
		else failed(at, noBoolean(answer));
	};
	const pending = new Set<Promise<void>>();
	let lastYield = performance.now();
	for (const [at, block] of blocks.entries()) {
		try {
			const answer: unknown = check(block);
			if (isThenable(answer)) {
				const settled: Promise<void> = Promise.resolve(answer)
					.then(
						(value) => answered(at, value),
						(error) => failed(at, error),
					)
					.finally(() => pending.delete(settled));
				pending.add(settled);
				if (pending.size >= AT_ONCE) await Promise.race(pending);
			} else {
				answered(at, answer);
			}
		} catch (error) {
			failed(at, error);
		}
		if (performance.now() - lastYield > YIELD_MS) {
			await new Promise((resolve) => setImmediate(resolve));
			lastYield = performance.now();
		}
	}
	await Promise.all(pending);
	return { answers, firstError };
}

function noBoolean(answer: unknown): TypeError {
	const what = answer === null ? 'null' : Array.isArray(answer) ? 'an array' : typeof answer;
	const error = new TypeError(
		`checkFunction must return a boolean or a promise of one, not ${what}`,
	);
	// where it was noticed says nothing
	error.stack = `${error.name}: ${error.message}`;
	return error;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return (
		typeof value === 'object' &&
		value !== null &&
		typeof (value as { then?: unknown }).then === 'function'
	);
}
