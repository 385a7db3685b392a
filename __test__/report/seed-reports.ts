// The runs of the mutex watershed tutorial as report data, with the tutorial's own numbers.
import type {
	Distribution,
	FailureReport,
	RunReport,
	TaskRunReport,
	WorkerReport,
} from '../../src/report/run-report.ts';

export const none: Distribution = { count: 0, mean: Number.NaN, std: Number.NaN, sum: 0 };

export const dist = (
	count: number,
	mean: number,
	std = Number.NaN,
	sum = mean * count,
): Distribution => ({
	count,
	mean,
	std,
	sum,
});

const ms = 1e-3;
const us = 1e-6;

type WorkerRow = [
	startup: number | null,
	blocks: number,
	idle: Distribution,
	compute: Distribution,
	teardown: number | null,
	exit: 'clean' | 'error',
];

const workers = (rows: readonly WorkerRow[]): WorkerReport[] =>
	rows.map(([startup, blocks, idle, compute, teardown, exit], workerId) => ({
		workerId,
		startupSeconds: startup === null ? null : startup * ms,
		blocks,
		idle,
		compute,
		teardownSeconds: teardown === null ? null : teardown * ms,
		exit,
		exitReason: '',
	}));

export const task = (more: Partial<TaskRunReport>): TaskRunReport => ({
	taskId: 'mws',
	total: 16,
	ready: 0,
	pending: 0,
	processing: 0,
	completed: 16,
	skipped: 0,
	failed: 0,
	orphaned: 0,
	abandonReason: null,
	workerStarts: 4,
	workerRestarts: 0,
	workerFailures: 0,
	failedAttempts: 0,
	timeouts: 0,
	timeoutMs: 600_000,
	timeoutIsDefault: true,
	checkErrors: 0,
	failures: [],
	wallSeconds: 0.3494,
	roundTrip: none,
	workers: [],
	resources: null,
	logDir: null,
	...more,
});

export const report = (
	tasks: readonly TaskRunReport[],
	more: Partial<RunReport> = {},
): RunReport => ({
	tasks,
	interrupted: null,
	logDir: null,
	wallSeconds: 0.365,
	driver: { cpuSeconds: 0.0421, peakRssBytes: 61_239_296 },
	...more,
});

export const clean = report([
	task({
		roundTrip: dist(16, 15.4 * ms, 6.8 * ms),
		workers: workers([
			[263.06, 3, dist(3, 9.67 * us, 6 * us), dist(3, 16.23 * ms, 12 * ms), 28.44, 'clean'],
			[286.79, 2, dist(2, 9.97 * us, 0.2 * us), dist(2, 13.6 * ms, 3.8 * ms), 35.1, 'clean'],
			[248.28, 3, dist(3, 459.7 * us, 683.6 * us), dist(3, 19.13 * ms, 5.7 * ms), 42.2, 'clean'],
			[201.17, 8, dist(8, 79.61 * us, 69.3 * us), dist(8, 14.11 * ms, 6.1 * ms), 34.4, 'clean'],
		]),
	}),
]);

export const rerun = report([
	task({
		skipped: 16,
		wallSeconds: 0.2836,
		workers: workers([
			[208.8, 0, none, none, 40.9, 'clean'],
			[null, 0, none, none, 48.9, 'clean'],
			[null, 0, none, none, 70.9, 'clean'],
			[null, 0, none, none, 74.6, 'clean'],
		]),
	}),
]);

export const failure: FailureReport = {
	block: { id: 'mws/7', index: [1, 2], writes: { begin: [128, 256], end: [256, 384] } },
	workerId: 4,
	attempt: 3,
	name: 'Error',
	message: 'simulated failure on tile (1, 2) (block mws/7)',
	stack:
		'Error: simulated failure on tile (1, 2) (block mws/7)\n    at processBlockBuggy (file:///job/tiles.js:19:9)',
};

export const buggy = report([
	task({
		completed: 15,
		failed: 1,
		failedAttempts: 3,
		workerStarts: 5,
		workerFailures: 3,
		failures: [failure],
		logDir: '/data/logs/mws',
		wallSeconds: 0.4723,
		roundTrip: dist(15, 9.4 * ms, 1.5 * ms),
		workers: workers([
			[239.0, 6, dist(6, 39.27 * us, 45.3 * us), dist(6, 7.43 * ms, 3.2 * ms), null, 'error'],
			[238.9, 2, dist(2, 21.66 * us, 21.3 * us), dist(2, 7.53 * ms, 5.8 * ms), null, 'error'],
			[242.7, 4, dist(4, 35.08 * us, 50.5 * us), dist(4, 10.08 * ms, 1.1 * ms), 25.8, 'clean'],
			[236.5, 5, dist(5, 45.16 * us, 46.8 * us), dist(5, 9.18 * ms, 2.2 * ms), 28.1, 'clean'],
			[124.7, 1, dist(1, 4.5 * us), dist(1, 3.0 * ms), null, 'error'],
		]),
	}),
]);

export const resumed = report([
	task({
		skipped: 15,
		wallSeconds: 0.276,
		roundTrip: dist(1, 12.4 * ms),
		workers: workers([
			[231.7, 1, dist(1, 55.6 * us), dist(1, 12.4 * ms), 27.1, 'clean'],
			[null, 0, none, none, 31.8, 'clean'],
			[241.4, 0, none, none, 34.5, 'clean'],
			[236.6, 0, none, none, 39.2, 'clean'],
		]),
	}),
]);
