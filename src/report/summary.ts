import stringWidth from 'string-width';
import { failureLines } from './failures.js';
import { flow, flowWords, padColumns } from './flow.js';
import { plainReport } from './plain-report.js';
import { resourcePanel } from './resource-panel.js';
import type { RunReport, TaskRunReport } from './run-report.js';

/** How a summary is written. */
export interface SummaryOptions {
	/** Failures shown, from the first task that failed on. Default 1. */
	readonly failuresShown?: number;
	/** Columns of the terminal; the worker table drops its per-block columns where it wouldn't fit. Default: no limit, as in a file. */
	readonly columns?: number;
	/** Colours a task's symbol; what it gives must show the same characters. Default: as it is. */
	readonly paint?: (symbol: string) => string;
}

const indent = '    ';
const gap = '  ';
const columns: readonly [title: string, width: number, of: (task: TaskRunReport) => number][] = [
	['blocks', 7, (task) => task.total],
	['completed', 10, (task) => task.completed],
	['skipped', 7, (task) => task.skipped],
	['failed', 6, (task) => task.failed],
	['orphaned', 8, (task) => task.orphaned],
];

/**
 * The Execution Summary and the Resource Utilization panel of a run, in daisy's layout, without a trailing newline.
 */
export function renderSummary(given: RunReport, options: SummaryOptions = {}): string {
	const report = plainReport(given);
	const lines = ['Execution Summary', '-----------------', ''];
	if (report.interrupted) {
		lines.splice(0, 0, `Interrupted by ${report.interrupted}: what had finished by then`, '');
	}
	const width = options.columns ?? Number.POSITIVE_INFINITY;
	const table = summaryTable(report.tasks);
	const fits = table.every((line) => stringWidth(line) <= width);
	const shown = fits ? table : summaryList(report.tasks, width);
	lines.push(...(options.paint ? shown.map((line) => painted(line, options.paint!)) : shown));
	for (const part of [
		indented(failureLines(report.tasks, options.failuresShown ?? 1, width - 6)),
		noteLines(report.tasks).flatMap((note) => flowWords(indent, note, width)),
		logLines(report, width),
	]) {
		if (part.length > 0) lines.push('', ...part);
	}
	const panel = resourcePanel(report, width);
	if (panel.length > 0) lines.push('', ...panel);
	return lines.join('\n');
}

/** `✗` failed, `∅` orphaned, `…` unfinished, `✔` all done. */
export function taskSymbol(task: TaskRunReport): string {
	if (task.failed > 0) return '✗';
	if (task.orphaned > 0) return '∅';
	return task.completed < task.total ? '…' : '✔';
}

/** A row's symbol is the first of these that stands alone. */
function painted(line: string, paint: (symbol: string) => string): string {
	return line.replace(/ ([✔✗∅…])(?=\s|$)/, (_, symbol: string) => ` ${paint(symbol)}`);
}

function summaryTable(tasks: readonly TaskRunReport[]): string[] {
	const first = Math.max(4, ...tasks.map((task) => stringWidth(task.taskId))) + 2;
	const row = (label: string, cells: readonly string[]) =>
		(indent + [padColumns(label, first), ...cells].join(gap)).trimEnd();
	const widthOf = (title: string, width: number, of: (task: TaskRunReport) => number) =>
		Math.max(width, title.length, ...tasks.map((task) => String(of(task)).length));
	const widths = columns.map(([title, width, of]) => widthOf(title, width, of));
	return [
		row(
			'task',
			columns.map(([title], i) => title.padStart(widths[i] ?? 0)),
		),
		row(
			'─'.repeat(first),
			widths.map((width) => '─'.repeat(width)),
		),
		...tasks.map((task) =>
			row(
				`${task.taskId} ${taskSymbol(task)}`,
				columns.map(([, , of], i) => String(of(task)).padStart(widths[i] ?? 0)),
			),
		),
	];
}

/** The table's numbers in words, for terminals that it is too wide for. */
function summaryList(tasks: readonly TaskRunReport[], width: number): string[] {
	return tasks.flatMap((task) => {
		const counts = columns.map(([title, , of]) => `${of(task)} ${title}`);
		return [
			`${indent}${task.taskId} ${taskSymbol(task)}`,
			...flow(`${indent}  `, counts, ', ', width),
		];
	});
}

/** What went wrong without being a failure of one block: timeouts, checks, abandonment. */
function noteLines(tasks: readonly TaskRunReport[]): string[] {
	const lines: string[] = [];
	for (const task of tasks) {
		if (task.timeouts > 0) {
			const value = task.timeoutIsDefault
				? `the default timeoutMs of ${task.timeoutMs}`
				: `timeoutMs: ${task.timeoutMs}`;
			lines.push(
				`${task.timeouts} block attempt(s) of task '${task.taskId}' ran past ${value}; raise timeoutMs for slow blocks`,
			);
		}
		if (task.checkErrors > 0) {
			lines.push(
				`checkFunction of task '${task.taskId}' gave no answer for ${task.checkErrors} block(s); they ran as not done`,
			);
		}
		if (task.abandonReason) {
			lines.push(`task '${task.taskId}' was abandoned: ${task.abandonReason}`);
		}
	}
	return lines;
}

const indented = (lines: readonly string[]) => lines.map((line) => (line ? indent + line : line));

/** Where logs are; a path stays whole, whatever blanks it has. */
function logLines(report: RunReport, width: number): string[] {
	const failed = report.tasks.filter(
		(task) => task.logDir && (task.failed > 0 || task.failedAttempts > 0 || task.abandonReason),
	);
	const [only] = failed;
	if (!only) return [];
	const which = failed.length === 1 ? 'details' : 'failed tasks';
	const words = `See worker logs for ${which} under`.split(' ');
	const place = failed.length === 1 ? only.logDir : report.logDir;
	const lines = flow(indent, [...words, `${place}/`], ' ', width);
	if (failed.length === 1) return lines;
	return [...lines, ...failed.map((task) => `${indent}  ${task.logDir}/`)];
}
