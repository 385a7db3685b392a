import { distributionOf, mergeDistributions } from './distribution.js';
import { flow, flowWords } from './flow.js';
import { counted, formatBytes, formatDistribution, formatDuration, noSamples } from './quantity.js';
import type {
	Distribution,
	ResourceReport,
	RunReport,
	TaskRunReport,
	WorkerReport,
} from './run-report.js';

/** Most workers that the table lists; the rest are counted. */
const longestTable = 64;
/** Most workers whose reason of exit is told. */
const longestReasons = 8;

const wideGap = '   ';
/** As wide as a label of the panel. */
const deepIndent = ' '.repeat(13);

/** Columns of the worker table: title, width, whether it is left out on a narrow terminal, content. */
const workerColumns: readonly [
	title: string,
	width: number,
	wideOnly: boolean,
	of: (worker: WorkerReport) => string,
][] = [
	['id', 2, false, (worker) => String(worker.workerId)],
	['startup', 9, false, (worker) => optional(worker.startupSeconds)],
	['blocks', 6, false, (worker) => String(worker.blocks)],
	['idle', 9, false, (worker) => total(worker.idle)],
	['idle / block', 19, true, (worker) => formatDistribution(worker.idle)],
	['compute', 9, false, (worker) => total(worker.compute)],
	['compute / block', 19, true, (worker) => formatDistribution(worker.compute)],
	['teardown', 9, false, (worker) => optional(worker.teardownSeconds)],
];

/**
 * The Resource Utilization panel, in daisy's layout; nothing when no worker was started and nothing measured.
 *
 * @param columns width of the terminal in characters
 */
export function resourcePanel(report: RunReport, columns: number): string[] {
	const shown = report.tasks.filter(
		(task) => task.workers.length > 0 || task.roundTrip.count > 0 || task.skipped > 0,
	);
	if (shown.length === 0) return [];
	const lines = ['Resource Utilization', '--------------------', ''];
	for (const [i, task] of shown.entries()) {
		if (i > 0) lines.push('');
		lines.push(...taskPanel(task, columns));
	}
	if (report.driver) {
		const { cpuSeconds, peakRssBytes } = report.driver;
		const wall = formatDuration(report.wallSeconds);
		const cpu = formatDuration(cpuSeconds);
		const cost = [`${wall} wall`, `${cpu} cpu`, `${formatBytes(peakRssBytes)} peak rss`];
		lines.push('', ...flow('  driver   ', cost, ', ', columns));
	}
	return lines;
}

function taskPanel(task: TaskRunReport, columns: number): string[] {
	const skipped = task.skipped > 0 ? ` (${task.skipped} skipped)` : '';
	// Where every block was skipped without a worker there was nothing to time.
	const wall = task.wallSeconds > 0 ? [`${formatDuration(task.wallSeconds)} wall`] : [];
	const counts = [
		`${counted(task.completed, 'block')}${skipped}`,
		counted(task.workers.length, 'worker'),
	];
	const lines = flow(`  ${task.taskId}   `, [...counts, ...wall], ', ', columns);
	if (task.roundTrip.count > 0) {
		const trip = `round trip ${formatDistribution(task.roundTrip)}`;
		lines.push(...flow('    blocks   ', [trip], '', columns));
	}
	if (task.failedAttempts > 0) {
		const label = task.roundTrip.count > 0 ? '             ' : '    blocks   ';
		lines.push(`${label}${task.failedAttempts} failed attempt(s)`);
	}
	if (task.resources && task.resources.wall.count > 0)
		lines.push(...measurementLines(task.resources, columns));
	if (task.workers.length > 0) lines.push(...workerLines(task.workers, columns));
	return lines;
}

/** What was measured inside the workers. */
function measurementLines(resources: ResourceReport, columns: number): string[] {
	const bytes = (of: Distribution) => formatDistribution(of, formatBytes);
	const times = [
		`wall ${formatDistribution(resources.wall)}`,
		`cpu ${formatDistribution(resources.cpu)}`,
	];
	const memory = [
		`peak rss ${bytes(resources.peakRssBytes)}`,
		`largest ${formatBytes(resources.maxPeakRssBytes)}`,
	];
	const files = [
		`read ${bytes(resources.ioReadBytes)}`,
		`written ${bytes(resources.ioWriteBytes)}`,
	];
	return [
		...flow('    measured ', times, wideGap, columns),
		...flow(deepIndent, memory, ', ', columns),
		...flow(deepIndent, files, wideGap, columns),
		...resources.notes.flatMap((note) => flowWords(deepIndent, note, columns)),
	];
}

function workerLines(workers: readonly WorkerReport[], columns: number): string[] {
	const startup = distribution(workers.map((worker) => worker.startupSeconds));
	const teardown = distribution(workers.map((worker) => worker.teardownSeconds));
	const idle = mergeDistributions(workers.map((worker) => worker.idle));
	const times = [
		`startup ${formatDistribution(startup)}`,
		`idle ${formatDistribution(idle)}`,
		`teardown ${formatDistribution(teardown)}`,
	];
	const lines = [
		...flow('    workers  ', times, wideGap, columns),
		...flow(deepIndent, [`exits ${exitCounts(workers)}`], '', columns),
	];
	const shown = workerColumns.filter(([, , wideOnly]) => !wideOnly || columns >= 115);
	const row = (cells: readonly string[], exit: string) => {
		const padded = cells.map((cell, i) => cell.padStart(shown[i]?.[1] ?? 0));
		return `        ${padded.join('  ')}  ${exit}`.trimEnd();
	};
	// On the narrowest terminals a table would only wrap into noise: the lines above say the essential.
	const reasons = exitReasons(workers, columns);
	if (columns < 72) return [...lines, ...reasons];
	lines.push(
		row(
			shown.map(([title]) => title),
			'exit',
		),
	);
	for (const worker of workers.slice(0, longestTable)) {
		lines.push(
			row(
				shown.map(([, , , of]) => of(worker)),
				worker.exit,
			),
		);
	}
	if (workers.length > longestTable) {
		lines.push(`        (+ ${counted(workers.length - longestTable, 'more worker')})`);
	}
	return [...lines, ...reasons];
}

/** Why workers ended with an error, where more is known than that: the first few in words. */
function exitReasons(workers: readonly WorkerReport[], columns: number): string[] {
	const told = workers.filter((worker) => worker.exit === 'error' && worker.exitReason);
	const lines = told
		.slice(0, longestReasons)
		.flatMap(({ workerId, exitReason }) =>
			flowWords(deepIndent, `worker ${workerId}: ${exitReason}`, columns),
		);
	const more = told.length - longestReasons;
	return more > 0 ? [...lines, `${deepIndent}(+ ${more} more)`] : lines;
}

function exitCounts(workers: readonly WorkerReport[]): string {
	return (['clean', 'error', 'running'] as const)
		.map((kind) => [workers.filter((worker) => worker.exit === kind).length, kind] as const)
		.filter(([count]) => count > 0)
		.map(([count, kind]) => `${count} ${kind}`)
		.join('  ');
}

const optional = (seconds: number | null) =>
	seconds === null ? noSamples : formatDuration(seconds);
const total = (of: { count: number; sum: number }) =>
	of.count === 0 ? noSamples : formatDuration(of.sum);
const distribution = (seconds: readonly (number | null)[]) =>
	distributionOf(seconds.filter((value) => value !== null));
