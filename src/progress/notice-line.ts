import { plainLine, plainName } from '../report/plain-text.js';
import type { RunEvent } from './events.js';

/** Most characters of a failure's message: the summary has the rest. */
const longestMessage = 300;

/**
 * The lines that a run's events are worth on a terminal or in a log: notices, and the first block of each task that has
 * failed for good, so that nobody waits for hours to be told. The others are counted by the progress and the summary.
 */
export class NoticeLines {
	readonly #failing = new Set<string>();

	/** The line for an event; null for none. */
	lineOf(event: RunEvent): string | null {
		if (event.type === 'notice') {
			const who = event.taskId === null ? '' : `task '${plainName(event.taskId)}': `;
			return `bellis ${event.level === 'warning' ? 'warning: ' : ''}${who}${plainLine(event.message)}`;
		}
		if (event.type !== 'failure' || !event.permanent || event.blockId === null) return null;
		if (this.#failing.has(event.taskId)) return null;
		this.#failing.add(event.taskId);
		const which = `${plainName(event.blockId)} in attempt ${event.attempt}`;
		const first = event.message.trim().split('\n', 1)[0] ?? '';
		return `bellis warning: task '${plainName(event.taskId)}': the first block has failed for good, ${which}: ${plainLine(first, longestMessage)}`;
	}
}
