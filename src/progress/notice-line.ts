import { plainText } from '../report/plain-text.js';
import type { RunEvent } from './events.js';

/**
 * The lines that a run's events are worth on a terminal or in a log: notices, and the first block of each task that has
 * failed for good, so that nobody waits for hours to be told. The others are counted by the progress and the summary.
 */
export class NoticeLines {
	readonly #failing = new Set<string>();

	/** The line for an event; null for none. */
	lineOf(event: RunEvent): string | null {
		if (event.type === 'notice') {
			const who = event.taskId === null ? '' : `task '${event.taskId}': `;
			return `bellis ${event.level === 'warning' ? 'warning: ' : ''}${who}${plainText(event.message)}`;
		}
		if (event.type !== 'failure' || !event.permanent || event.blockId === null) return null;
		if (this.#failing.has(event.taskId)) return null;
		this.#failing.add(event.taskId);
		const attempts = `attempt ${event.attempt}`;
		return `bellis warning: task '${event.taskId}': the first block has failed for good, ${event.blockId} in ${attempts}: ${oneLine(event.message)}`;
	}
}

function oneLine(text: string): string {
	const line = plainText(text).trim().split('\n', 1)[0] ?? '';
	return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
