import { flow } from './flow.js';
import { intervalsOf } from './region-text.js';
import type { FailureReport, TaskRunReport } from './run-report.js';

/** Longest text of one failure in a summary, in characters: a thousand long failures stay readable. */
const longestFailure = 2_000;
/** Longest text of all failures in a summary, in bytes. */
const longestSection = 48_000;
/** Bytes that a summary puts around a line: its indentation and the line's end. */
const aroundLine = 7;

/**
 * The first failures of each task that has any, with the number of those not shown.
 *
 * @param shown how many to show; with 1 only the first failure of the first failed task is shown
 * @param columns width that a failure's first line is broken at
 */
export function failureLines(
	tasks: readonly TaskRunReport[],
	shown: number,
	columns: number,
): string[] {
	const failed = tasks.filter((task) => task.failures.length > 0);
	const lines: string[] = [];
	let left = shown;
	let room = longestSection;
	for (const task of failed) {
		if (left <= 0 || room <= 0) break;
		const some: string[] = [];
		const pointer = task.logDir === null ? '' : '; see worker logs';
		let count = 0;
		for (const failure of task.failures.slice(0, left)) {
			const body = [...blockLines(failure, columns), ...failureText(failure, pointer).split('\n')];
			const bytes = body.reduce((sum, line) => sum + Buffer.byteLength(line) + aroundLine, 0);
			if (bytes > room) break;
			room -= bytes;
			if (count > 0) some.push('');
			some.push(...body.map((line) => (line ? `  ${line}` : line)));
			count++;
		}
		if (count === 0) break;
		left -= count;
		if (lines.length > 0) lines.push('');
		const title = count === 1 ? 'First failure' : `First ${count} failures`;
		lines.push(`${title} in task '${task.taskId}':`, ...some);
		const more = task.failed - count;
		if (more > 0) {
			lines.push(`  (+ ${more} more failed block${more === 1 ? '' : 's'}${pointer})`);
		}
	}
	return lines;
}

/** Which block it was, where, and who ran it how often. */
function blockLines({ block, attempt, workerId }: FailureReport, columns: number): string[] {
	const parts = [
		...(block === null ? ['no block'] : [`${block.id} at (${block.index.join(', ')})`]),
		...(block === null ? [] : [`writes ${intervalsOf(block.writes.begin, block.writes.end)}`]),
		`attempt ${attempt}`,
		...(workerId === null ? [] : [`worker ${workerId}`]),
	];
	return flow('', parts, ', ', columns);
}

/**
 * A failure as its stack, or its name and message where it has none, capped with a note.
 *
 * @param pointer what the note ends with: where the rest is to be found
 */
export function failureText(failure: FailureReport, pointer = ''): string {
	const headline = failure.message ? `${failure.name}: ${failure.message}` : failure.name;
	// What stands for the stack of a worker that died is what it wrote last, which may not say why.
	const { name, message, stack } = failure;
	const told = stack.startsWith(name) || stack.includes(message.split('\n', 1)[0] ?? '');
	const whole = told ? failure.stack || headline : `${headline}\n${failure.stack}`;
	const text = whole.trimEnd();
	if (text.length <= longestFailure) return text;
	return `${text.slice(0, longestFailure)}\n… (${text.length - longestFailure} more characters${pointer})`;
}
