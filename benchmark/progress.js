// `npm run bench -- progress`: a run of short blocks with and without the progress display.
import { performance } from 'node:perf_hooks';
import { runBlockwise } from '../dist/index.js';
import { makeTask } from './drain.js';
import { task1d } from './geometries.js';
import { result } from './results.js';

const functions = new URL('./work/block-functions.js', import.meta.url);

/**
 * Runs both in turn, so that drift of the machine's speed meets both alike.
 *
 * @param {{ quick?: boolean }} options
 */
export async function measure({ quick = false }) {
	const seconds = { 'with progress': [], 'without progress': [] };
	for (let i = 0; i < (quick ? 3 : 9); i++) {
		for (const progress of [true, false]) {
			const task = makeTask(task1d(20_000), {
				maxWorkers: 2,
				processFunction: { module: functions, export: 'nothing' },
			});
			const start = performance.now();
			await runBlockwise(task, { progress, summary: false });
			seconds[progress ? 'with progress' : 'without progress'].push(
				(performance.now() - start) / 1000,
			);
		}
	}
	const ratios = seconds['with progress'].map((value, i) => value / seconds['without progress'][i]);
	return [
		...Object.entries(seconds).map(([name, values]) =>
			result('20000-w2', `bellis ${name}`, 'run', 's', values),
		),
		result('20000-w2', 'bellis', 'progress', 'ratio', ratios),
	];
}
