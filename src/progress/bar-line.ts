import stringWidth from 'string-width';
import { plainName } from '../report/plain-text.js';
import type { TaskCounts } from './observer.js';
import { clock, perSecond } from './rate.js';

/** Names are cut only when they are longer than this. */
const shortestName = 12;
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A task's line as progress shows it. */
export interface BarLine {
	readonly taskId: string;
	readonly counts: TaskCounts;
	/** Seconds since the run started. */
	readonly elapsed: number;
	/** Blocks per second. */
	readonly rate: number;
	/** Whether the run has ended. Default false. */
	readonly runIsOver?: boolean;
}

/**
 * `▶` until the task has ended, then `✗`, `∅` or `✔`; `…` when the run ended before it.
 *
 * @param runIsOver whether the run has ended, as an interrupted one does while tasks are unfinished
 */
export function progressSymbol(counts: TaskCounts, runIsOver = false): string {
	if (!counts.done && !counts.abandoned && !runIsOver) return '▶';
	if (counts.failed > 0) return '✗';
	if (counts.orphaned > 0) return '∅';
	return counts.completed < counts.total ? '…' : '✔';
}

/** Blocks that have reached their end, whichever. */
export function ended(counts: TaskCounts): number {
	return counts.completed + counts.failed + counts.orphaned;
}

/** Seconds until the unfinished blocks have ended at the present rate; NaN when unknown. */
export function remaining({ counts, rate }: BarLine): number {
	const left = counts.total - ended(counts);
	return left === 0 ? 0 : rate > 0 ? left / rate : Number.NaN;
}

/**
 * One line narrower than `columns`, in daisy's form:
 * `bar ▶ ♻=0:  50%|█████     | 4/8 [00:00<00:00, 7.97 block/s, ⧗=0, ▶=4, ✔=4, ✗=0, ∅=0]`.
 * What doesn't fit is left out from the right, the bar last.
 */
export function barLine(line: BarLine, columns: number): string {
	const { counts, elapsed, rate } = line;
	const taskId = plainName(line.taskId);
	const count = ended(counts);
	const share = counts.total > 0 ? count / counts.total : 1;
	const percent = `${Math.floor(share * 100)}%`.padStart(4);
	const head = `${progressSymbol(counts, line.runIsOver)} ♻=${counts.workerRestarts}: ${percent}`;
	const times = `${clock(elapsed)}<${clock(remaining(line))}`;
	const waiting = counts.pending + counts.ready;
	const states = `⧗=${waiting}, ▶=${counts.processing}, ✔=${counts.completed}, ✗=${counts.failed}, ∅=${counts.orphaned}`;
	const tails = [
		` ${count}/${counts.total} [${times}, ${perSecond(rate)}, ${states}]`,
		` ${count}/${counts.total} [${times}, ${perSecond(rate)}]`,
		` ${count}/${counts.total} [${times}]`,
		` ${count}/${counts.total}`,
		'',
	];
	const room = Math.max(10, columns - 1);
	for (const tail of tails) {
		const fixed = head.length + tail.length + 3;
		const space = room - fixed;
		const name = shorten(taskId, Math.max(shortestName, Math.floor(space / 2)));
		const width = Math.min(40, space - widthOf(name));
		if (width >= 6) return `${name} ${head}|${bar(share, width)}|${tail}`;
	}
	return shorten(`${shorten(taskId, Math.max(1, room - head.length - 1))} ${head}`, room);
}

function bar(share: number, width: number): string {
	const filled = Math.min(width * 8, Math.round(share * width * 8));
	return ('█'.repeat(filled >> 3) + (eighths[filled & 7] ?? '')).padEnd(width);
}

/** A text of at most so many columns, which wide characters take two of. Letters and emoji made of parts stay whole. */
function shorten(text: string, columns: number): string {
	if (widthOf(text) <= columns) return text;
	let short = '';
	let width = 1;
	for (const { segment } of new Intl.Segmenter().segment(text)) {
		width += widthOf(segment);
		if (width > columns) break;
		short += segment;
	}
	return `${short}…`;
}

/**
 * Columns that a text may take. Terminals differ in joined emoji such as families, which some show as their parts: a bar
 * that is too short does less harm than one that wraps.
 */
function widthOf(text: string): number {
	if (!text.includes('\u200D')) return stringWidth(text);
	return text.split('\u200D').reduce((sum, part) => sum + stringWidth(part), 0);
}
