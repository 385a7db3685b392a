import type { FailureReport } from '../report/run-report.js';

/** Failures that a line of `runs.jsonl` keeps; `blocks.failed` counts all. */
const mostFailures = 10;
/** Longest message and longest stack, in characters. */
const longestText = 2_000;

/** A failure in a line of `runs.jsonl`. */
export interface RecordedFailure {
	/** Null when no block was to blame. */
	block: {
		/** As of `Block`. */
		id: string;
		/** Place in the task's grid of blocks. */
		index: number[];
		/** Corners of what it writes. */
		writes: { begin: number[]; end: number[] };
	} | null;
	/** The worker that ran it; null in serial mode. */
	worker_id: number | null;
	/** 1 for the first. */
	attempt: number;
	/** Such as `TypeError`; `ThrownValue` for what is no error. */
	name: string;
	/** The error's message, cut where it is long. */
	message: string;
	/** Empty when there is none. */
	stack: string;
}

/** The first of a task's failures, as `runs.jsonl` keeps them. */
export function recordedFailures(failures: readonly FailureReport[]): RecordedFailure[] {
	return failures.slice(0, mostFailures).map(({ block, workerId, attempt, ...error }) => ({
		block: block && {
			id: block.id,
			index: [...block.index],
			writes: { begin: [...block.writes.begin], end: [...block.writes.end] },
		},
		worker_id: workerId,
		attempt,
		name: error.name,
		message: shortened(error.message),
		stack: shortened(error.stack),
	}));
}

/** As they were before they were written; none in a line of a version that didn't keep them. */
export function readFailures(recorded: readonly RecordedFailure[] | undefined): FailureReport[] {
	return (recorded ?? []).map(({ worker_id, ...rest }) => ({ ...rest, workerId: worker_id }));
}

function shortened(text: string): string {
	return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}
