// One process of `npm run bench -- resume`: resumes a store as often as asked, and tells what each run took.
// argv[2]: { task, store, workers, repeats }. The last line of stdout: { seconds, starts, skipped, peakRssBytes }.
import { performance } from 'node:perf_hooks';
import { runBlockwise } from '../../dist/index.js';
import { makeTask } from '../tasks.js';

const { task, store, workers, repeats } = JSON.parse(process.argv[2]);
const seconds = [];
const starts = [];
const skipped = [];
for (let i = 0; i < repeats; i++) {
	const made = makeTask(task, {
		trackingPath: store,
		maxWorkers: workers,
		processFunction: {
			module: new URL('./block-functions.js', import.meta.url),
			export: 'nothing',
		},
	});
	const begin = performance.now();
	const states = await runBlockwise(made, {
		// an observer, so that the notice of what was skipped isn't printed either
		progress: { onEvent: () => {} },
		summary: false,
		returnStates: true,
	});
	seconds.push((performance.now() - begin) / 1000);
	const { completed, total, ...state } = states.t;
	if (completed !== total) throw new Error(`${completed} of ${total} completed`);
	starts.push(state.workerStarts);
	skipped.push(state.skipped);
}
const peakRssBytes = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ seconds, starts, skipped, peakRssBytes }));
