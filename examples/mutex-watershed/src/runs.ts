import { join } from 'node:path';
import { isBellisError, Roi, runBlockwise, Task } from 'bellis';
import type { LabelImage } from './affinities.js';
import { IMAGE_SHAPE, type OutputPaths, TASK_ID, TILE } from './layout.js';
import type { Options } from './options.js';
import type { TileConfig } from './segment-tile.js';
import { readBytes, type Volume } from './volume.js';

const WORKERS = 4;

/** Further attempts at a block that failed. */
const RETRIES = 2;

/** How many blocks a run worked on, left out because they were done, and gave up. */
export interface Counts {
	readonly executed: number;
	readonly skipped: number;
	readonly failed: number;
}

/** How a run ended: with counts, or with the error of a block. */
export type Outcome = (Counts & { readonly elapsedMs: number }) | { readonly raised: Error };

/** A run, with what was on disk after it. */
export interface FinishedRun {
	readonly label: string;
	readonly outcome: Outcome;
	readonly segmentation: LabelImage;
	/** One byte for each tile, row-major: 1 for done. */
	readonly done: Uint8Array;
}

interface Plan {
	readonly label: string;
	/** Forget what is done, and empty the segmentation, before the run. */
	readonly reset: boolean;
	readonly buggy: boolean;
	/** What has to come out with worker processes; 'raises' for an error of a block. */
	readonly parallel: Counts;
	/** The same without. */
	readonly serial: Counts | 'raises';
}

const EVERYTHING: Counts = { executed: 16, skipped: 0, failed: 0 };
const NOTHING: Counts = { executed: 0, skipped: 16, failed: 0 };

const PLANS: readonly Plan[] = [
	{ label: '1: clean', reset: true, buggy: false, parallel: EVERYTHING, serial: EVERYTHING },
	{
		label: '2: re-run, no reset',
		reset: false,
		buggy: false,
		parallel: NOTHING,
		serial: NOTHING,
	},
	{
		label: '3: buggy, after reset',
		reset: true,
		buggy: true,
		parallel: { executed: 15, skipped: 0, failed: 1 },
		serial: 'raises',
	},
	{
		label: '4: fixed, resume',
		reset: false,
		buggy: false,
		parallel: { executed: 1, skipped: 15, failed: 0 },
		serial: { executed: 10, skipped: 6, failed: 0 },
	},
];

/**
 * Makes the four runs one after the other and prints a line for each.
 *
 * @throws Error when a run doesn't end as it must
 */
export async function makeRuns(
	options: Options,
	paths: OutputPaths,
	volume: Volume,
): Promise<FinishedRun[]> {
	const finished: FinishedRun[] = [];
	for (const plan of PLANS) {
		const task = makeTask(options, paths, plan.buggy);
		if (plan.reset) {
			await task.reset();
			await volume.clearSegmentation();
		}
		const outcome = await runOnce(task, options, paths);
		console.log(describeOutcome(plan.label, outcome));
		checkOutcome(plan, outcome, options);

		const segmentation = await volume.readSegmentation();
		const { data: done } = await readBytes(join(paths.tracking, 'done'));
		finished.push({ label: plan.label, outcome, segmentation, done });
	}
	return finished;
}

/** A run's line in the form of the tutorial. */
export function describeOutcome(label: string, outcome: Outcome): string {
	const start = label.padEnd(24);
	if ('raised' in outcome)
		return `${start} raised ${outcome.raised.name}: ${outcome.raised.message}`;
	const { executed, skipped, failed, elapsedMs } = outcome;
	const count = (value: number) => String(value).padStart(2);
	const elapsed = elapsedMs.toFixed(1).padStart(7);
	return `${start}  executed=${count(executed)}  skipped=${count(skipped)}  failed=${count(failed)}  elapsed=${elapsed} ms`;
}

function makeTask(options: Options, paths: OutputPaths, buggy: boolean): Task {
	const module = new URL('./segment-tile.js', import.meta.url);
	const work =
		options.mode === 'worker-function'
			? { workerFunction: { module, export: buggy ? 'segmentTilesBuggy' : 'segmentTiles' } }
			: { processFunction: { module, export: buggy ? 'segmentTileBuggy' : 'segmentTile' } };
	const config: TileConfig = { volume: paths.volume };
	return new Task({
		taskId: TASK_ID,
		totalRoi: new Roi([0, 0], [...IMAGE_SHAPE]),
		readRoi: new Roi([0, 0], [TILE, TILE]),
		writeRoi: new Roi([0, 0], [TILE, TILE]),
		...work,
		readWriteConflict: false,
		maxWorkers: WORKERS,
		maxRetries: RETRIES,
		trackingPath: paths.tracking,
		config,
	});
}

async function runOnce(task: Task, options: Options, paths: OutputPaths): Promise<Outcome> {
	const startedAt = performance.now();
	try {
		const states = await runBlockwise(task, {
			multiprocessing: options.multiprocessing,
			logDir: paths.logs,
			progress: false,
			returnStates: true,
		});
		const { completed, skipped, failed } = states[TASK_ID]!;
		const elapsedMs = performance.now() - startedAt;
		// A skipped block counts as completed too.
		return { executed: completed - skipped, skipped, failed, elapsedMs };
	} catch (error) {
		// Without worker processes, the first error of a block function comes out of the run unchanged.
		if (options.multiprocessing || isBellisError(error) || !(error instanceof Error)) throw error;
		return { raised: error };
	}
}

function checkOutcome(plan: Plan, outcome: Outcome, options: Options): void {
	const expected = options.multiprocessing ? plan.parallel : plan.serial;
	const isAsExpected =
		'raised' in outcome
			? expected === 'raises'
			: expected !== 'raises' &&
				outcome.executed === expected.executed &&
				outcome.skipped === expected.skipped &&
				outcome.failed === expected.failed;
	if (isAsExpected) return;
	const wanted =
		expected === 'raises'
			? 'an error'
			: `executed=${expected.executed} skipped=${expected.skipped} failed=${expected.failed}`;
	throw new Error(`run "${plan.label}" should have ended with ${wanted}`, {
		cause: 'raised' in outcome ? outcome.raised : undefined,
	});
}
