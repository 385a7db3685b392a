/**
 * The texts of what a run tells besides its progress, as functions of plain data. Each is shown behind the task's name.
 */
import { FIT_RULES, type Fit } from '../fit.js';
import { type CoverageLayout, intervalsText, uncoveredIntervals } from '../report/coverage.js';
import { plainJson, plainName } from '../report/plain-text.js';
import { formatDuration } from '../report/quantity.js';

/** What is known of the blocks that a task skipped. */
export interface ResumedTask {
	readonly skipped: number;
	readonly total: number;
	/** Directory of the tracking store; null for none. */
	readonly storePath: string | null;
	/** Whether a `skipMask` or a `checkFunction` may have skipped some of them. */
	readonly hasMask: boolean;
	readonly hasCheck: boolean;
	/** Whether more may be skipped later. Default false. */
	readonly soFar?: boolean;
}

/** How many of how many blocks were skipped, by whose word, and how to start afresh. */
export function resumedText(task: ResumedTask): string {
	const { skipped, total, storePath, hasMask, hasCheck, soFar = false } = task;
	const sources = [
		...(storePath === null ? [] : ['the tracking store']),
		...(hasMask ? ['skipMask'] : []),
		...(hasCheck ? ['checkFunction'] : []),
	];
	const by = sources.length > 0 ? ` (by ${sources.join(', ')})` : '';
	const count = `skipped ${skipped} of ${total} block${total === 1 ? '' : 's'}${soFar ? ' so far' : ''}${by}`;
	if (storePath === null) return count;
	return `${count}; to run all of them again: task.reset(), bellis reset ${shellWord(storePath)}, or trackingPath: false`;
}

/** Why a task has no block. */
export function noBlocksText({ totalShape, readShape, fit }: NoBlocks): string {
	const list = (shape: readonly number[]) => `(${shape.join(', ')})`;
	const small = FIT_RULES[fit].onlyWholeBlocks
		? `one block reads ${list(readShape)}, and fit '${fit}' keeps whole blocks only`
		: 'nothing is left of it without the context';
	return `has no block, so there is nothing to do: its total is ${list(totalShape)}, ${small}`;
}

/** A layout in which no block fits. */
export interface NoBlocks {
	readonly totalShape: readonly number[];
	readonly readShape: readonly number[];
	readonly fit: Fit;
}

/** The part of the total that a fit with whole blocks only leaves out; null when nothing is. */
export function uncoveredRimText(layout: CoverageLayout): string | null {
	const intervals = uncoveredIntervals(layout);
	if (intervals.length === 0 || layout.blockGridShape.some((count) => count === 0)) return null;
	return `no block writes ${intervalsText(intervals)}, where a whole block doesn't fit; fit: 'shrink' or 'overhang' covers it`;
}

/** What is known of a run that was asked to stop. */
export interface StoppingRun {
	/** Name of the signal; null for an `AbortSignal`. */
	readonly signal: string | null;
	/** Milliseconds that running blocks have to finish. */
	readonly graceMs: number;
	/** Whether blocks run in this process, where nobody can end them. */
	readonly serial: boolean;
}

/** That the request to stop has arrived, and what comes next: otherwise nothing seems to happen. */
export function stoppingText({ signal, graceMs, serial }: StoppingRun): string {
	const why = signal ?? 'aborted';
	if (serial) {
		const wait = formatDuration(graceMs / 1000);
		return `${why}: the run ends after the block that is running; one that awaits something has ${wait}`;
	}
	const sooner = signal === null ? '' : '; another signal ends them at once';
	const grace =
		graceMs > 0
			? `those that are running have ${formatDuration(graceMs / 1000)} to finish${sooner}`
			: 'those that are running are ended';
	return `${why}: no more blocks are handed out, and ${grace}`;
}

/** A word as a shell takes it: in one line, and without what acts on a terminal, as bash and zsh write such words. */
export function shellWord(text: string): string {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	const name = plainName(text);
	if (name === text) return `'${text.replaceAll("'", "'\\''")}'`;
	const quoted = plainJson(text.replace(/[\\']/g, '\\$&'));
	return `$'${quoted.replaceAll('\n', '\\n').replaceAll('\t', '\\t')}'`;
}
