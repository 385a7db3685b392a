import type { RunEvent } from './events.js';

/** The line that an event is worth on a terminal or in a log; null for none. */
export function noticeLine(event: RunEvent): string | null {
	if (event.type !== 'notice') return null;
	const who = event.taskId === null ? '' : `task '${event.taskId}': `;
	return `bellis ${event.level === 'warning' ? 'warning: ' : ''}${who}${event.message}`;
}
