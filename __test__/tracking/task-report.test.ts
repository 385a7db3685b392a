import { readFileSync } from 'node:fs';
import test from 'ava';
import { distributionOf } from '../../src/report/distribution.js';
import type { TaskRunReport, WorkerReport } from '../../src/report/run-report.js';
import {
	formatRunRecord,
	parseRunRecords,
	type RecordedRun,
} from '../../src/tracking/run-record.js';
import { TaskReport } from '../../src/tracking/task-report.js';

const run: RecordedRun = { runId: 'r1', startedAt: 1000.5, finishedAt: 1002.25, interrupted: null };

const workers: WorkerReport[] = [
	{
		workerId: 0,
		startupSeconds: 0.25,
		blocks: 3,
		idle: distributionOf([0.125, 0.25, 0.375]),
		compute: distributionOf([1, 2, 3]),
		teardownSeconds: 0.5,
		exit: 'clean',
		exitReason: '',
	},
	{
		workerId: 4,
		startupSeconds: null,
		blocks: 0,
		idle: distributionOf([]),
		compute: distributionOf([]),
		teardownSeconds: null,
		exit: 'error',
		exitReason: 'killed by SIGKILL',
	},
];

function report(changes: Partial<TaskRunReport> = {}): TaskRunReport {
	return {
		taskId: 'seg',
		total: 4,
		ready: 0,
		pending: 0,
		processing: 0,
		completed: 3,
		skipped: 1,
		failed: 1,
		orphaned: 0,
		abandonReason: null,
		workerStarts: 2,
		workerRestarts: 1,
		workerFailures: 1,
		failedAttempts: 3,
		timeouts: 1,
		timeoutMs: 600_000,
		timeoutIsDefault: true,
		checkErrors: 2,
		failures: [],
		wallSeconds: 1.5,
		roundTrip: distributionOf([1, 2]),
		workers,
		resources: null,
		logDir: null,
		...changes,
	};
}

const noBlocks = async () => null;

function read(lines: readonly string[]): TaskReport {
	const records = parseRunRecords(lines);
	return TaskReport.of(records.at(-1)!, records.slice(0, -1), noBlocks);
}

test('a report comes back from its line', (t) => {
	const line = formatRunRecord(report(), run);
	t.false(line.includes('\n'));
	const back = read([line]);
	t.like(back, {
		taskId: 'seg',
		runId: 'r1',
		startedAt: 1000.5,
		finishedAt: 1002.25,
		wallSeconds: 1.5,
		interrupted: null,
		abandonReason: null,
		timeoutMs: 600_000,
		resources: null,
	});
	t.deepEqual(back.blocks, {
		total: 4,
		completed: 3,
		skipped: 1,
		executed: 2,
		failed: 1,
		orphaned: 0,
		failedAttempts: 3,
		timeouts: 1,
		checkErrors: 2,
	});
	t.deepEqual(back.roundTrip, distributionOf([1, 2]));
	t.deepEqual(back.workers.byId[0], {
		workerId: 0,
		startup: 0.25,
		blocks: 3,
		idle: distributionOf([0.125, 0.25, 0.375]),
		compute: distributionOf([1, 2, 3]),
		teardown: 0.5,
		exit: 'clean',
		exitReason: '',
	});
	t.like(back.worker(4), { startup: null, exit: 'error', exitReason: 'killed by SIGKILL' });
	t.is(back.worker(2), null);
	t.is(`${JSON.stringify(back)}`, line);
});

test('distributions over workers and blocks leave out what has no sample', (t) => {
	const back = read([formatRunRecord(report(), run)]);
	t.deepEqual(back.workers.startup, distributionOf([0.25]));
	t.deepEqual(back.workers.teardown, distributionOf([0.5]));
	t.deepEqual(back.workers.compute, distributionOf([1, 2, 3]));
	t.deepEqual(back.workers.exits, { clean: 1, error: 1, running: 0 });
	t.like(back.workers, { starts: 2, restarts: 1, failures: 1 });
});

test('measurements are there when they were made', (t) => {
	const resources = {
		wall: distributionOf([1, 2]),
		cpu: distributionOf([Number.NaN]),
		peakRssBytes: distributionOf([100, 200]),
		ioReadBytes: distributionOf([0]),
		ioWriteBytes: distributionOf([]),
		maxPeakRssBytes: 200,
		notes: ['cpu: several blocks at once'],
	};
	const back = read([formatRunRecord(report({ resources }), run)]).resources!;
	t.deepEqual(back.wallSeconds, resources.wall);
	t.true(Number.isNaN(back.cpuSeconds.mean));
	t.is(back.maxPeakRssBytes, 200);
	t.deepEqual([...back.notes], resources.notes);
	t.is(back.ioWriteBytes.count, 0);
});

test('the last run is reported, the ones before are kept, other lines are left out', (t) => {
	const lines = [
		formatRunRecord(report({ completed: 2 }), { ...run, runId: 'first' }),
		'{"format":1,"run_id":"torn","blo',
		'null',
		'{"format":7}',
		'{"a":1}',
		formatRunRecord(report(), { ...run, runId: 'second' }),
	];
	const back = read(lines);
	t.is(back.runId, 'second');
	t.deepEqual(
		back.earlier.map((one) => [one.runId, one.blocks.completed]),
		[['first', 2]],
	);
	t.deepEqual(parseRunRecords([]), []);
});

/** What one measured block cost. */
const resourcesWith = (notes: string[]) => ({
	wall: distributionOf([1]),
	cpu: distributionOf([1]),
	peakRssBytes: distributionOf([1]),
	ioReadBytes: distributionOf([1]),
	ioWriteBytes: distributionOf([1]),
	maxPeakRssBytes: 1,
	notes,
});

test('a line in which any value is missing or of another kind is left out', (t) => {
	const failures = [
		{
			block: { id: 'mws/7', index: [1], writes: { begin: [10], end: [20] } },
			...{ workerId: null, attempt: 3, name: 'Error', message: 'm', stack: '' },
		},
		{ block: null, workerId: 4, attempt: 1, name: 'Error', message: 'm', stack: 's' },
	];
	const resources = resourcesWith(['n']);
	const line = formatRunRecord(report({ failures, resources }), run);
	t.is(parseRunRecords([line]).length, 1);
	t.deepEqual(read([line]).failures, failures);
	const { failures: _, ...earlier } = JSON.parse(line);
	t.deepEqual(read([JSON.stringify(earlier)]).failures, []);
	let spoilt = 0;
	/** Spoils each value in turn, at every depth. */
	const spoil = (value: unknown, put: (other: unknown) => void, optional: boolean) => {
		for (const other of [undefined, [[]], { '?': '?' }, true]) {
			if (optional && other === undefined) continue;
			put(other);
			t.deepEqual(parseRunRecords([JSON.stringify(record)]), [], JSON.stringify(record));
			spoilt++;
		}
		put(value);
		if (typeof value !== 'object' || value === null) return;
		const fields = value as Record<string, unknown>;
		for (const [key, one] of Object.entries(fields)) {
			// a worker that isn't there is none; nor is a line without failures a bad one
			const mayMiss = /^\d+$|^failures$/.test(key) && typeof one === 'object';
			spoil(
				one,
				(other) => {
					if (other === undefined) delete fields[key];
					else fields[key] = other;
				},
				mayMiss || Array.isArray(fields),
			);
		}
	};
	let record: unknown = JSON.parse(line);
	spoil(
		record,
		(other) => {
			record = other ?? null;
		},
		false,
	);
	t.true(spoilt > 300, `${spoilt}`);
});

test('every name in the file is documented', (t) => {
	const documented = readFileSync(new URL('../../RUN_RECORDS.md', import.meta.url), 'utf8');
	const resources = resourcesWith([]);
	const names = new Set<string>();
	JSON.parse(formatRunRecord(report({ resources }), run), (name, value) => {
		if (name !== '' && Number.isNaN(Number(name))) names.add(name);
		return value;
	});
	t.true(names.size > 30, `${names.size} names`);
	const missing = [...names].filter((name) => !new RegExp(`[\`"]${name}[\`"]`).test(documented));
	t.deepEqual(missing, []);
});
