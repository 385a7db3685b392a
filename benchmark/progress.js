// `npm run bench -- progress`: a run of short blocks with and without progress bars.
import { createWriteStream } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { BarsObserver, runBlockwise } from '../dist/index.js';
import { task1d } from './geometries.js';
import { result } from './results.js';
import { makeTask } from './tasks.js';

const functions = new URL('./work/block-functions.js', import.meta.url);

/** A terminal that shows nothing, so that bars are drawn wherever the benchmark runs. */
const terminal = () =>
	Object.assign(createWriteStream('/dev/null'), { isTTY: true, columns: 100, rows: 24 });

/**
 * Runs both in turn, so that drift of the machine's speed meets both alike.
 *
 * @param {{ quick?: boolean }} options
 */
export async function measure({ quick = false }) {
	const seconds = { 'with bars': [], 'without bars': [] };
	for (let i = 0; i < (quick ? 3 : 9); i++) {
		for (const progress of [true, false]) {
			const task = makeTask(task1d(20_000), {
				maxWorkers: 2,
				processFunction: { module: functions, export: 'nothing' },
			});
			const start = performance.now();
			const observer = progress && new BarsObserver(terminal());
			await runBlockwise(task, { progress: observer, summary: false });
			seconds[progress ? 'with bars' : 'without bars'].push((performance.now() - start) / 1000);
		}
	}
	const ratios = seconds['with bars'].map((value, i) => value / seconds['without bars'][i]);
	return [
		...Object.entries(seconds).map(([name, values]) =>
			result('20000-w2', `bellis ${name}`, 'run', 's', values),
		),
		result('20000-w2', 'bellis', 'progress', 'ratio', ratios),
	];
}
