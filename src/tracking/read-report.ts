import { StoreError } from '../errors.js';
import type { NativeTaskSpec } from '../native.js';
import { runsRead, storeRuns } from '../native-tracking.js';
import { parseRunRecords } from './run-record.js';
import { TaskReport } from './task-report.js';
import type { TrackingStore } from './tracking-store.js';

/** Where a task's runs may have been recorded. */
export interface ReportSources {
	/** Null for a task without a store. */
	readonly store: TrackingStore | null;
	/** For the store of a task: what it must have been written for. */
	readonly spec: NativeTaskSpec | null;
	/** Directory of the task's logs, looked into when there is no store; null for none. */
	readonly logFolder: string | null;
}

/**
 * The report of the last run, from the store or, when there is none, from the logs.
 *
 * @throws StoreError when no run was recorded
 */
export async function readReport({ store, spec, logFolder }: ReportSources): Promise<TaskReport> {
	const stored = store === null ? null : await storeRuns(store.path, spec);
	let records = parseRunRecords(stored ?? []);
	if (records.length === 0 && logFolder !== null) {
		records = parseRunRecords(await runsRead(logFolder));
	}
	const last = records.at(-1);
	if (last === undefined) {
		const places = [store?.path, logFolder].filter((place) => place != null);
		throw new StoreError(`no run is recorded in ${places.join(' or ')}`, {
			path: places[0] ?? '',
		});
	}
	return TaskReport.of(last, records.slice(0, -1), async (block) =>
		store === null ? null : store.blockRecord(block),
	);
}
