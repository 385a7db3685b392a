// Drains the scheduler that one would write by hand: prints blocks per second, one a repeat.
import { performance } from 'node:perf_hooks';
import { PlainScheduler } from './plain-scheduler.js';

const { tasks, repeats } = JSON.parse(process.argv[2]);

function drain() {
	const start = performance.now();
	const scheduler = new PlainScheduler(tasks);
	let blocks = 0;
	for (const { taskId } of tasks) {
		for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
			scheduler.release(block);
			blocks++;
		}
	}
	return blocks / ((performance.now() - start) / 1000);
}

// once to warm up, unless it is a matter of many seconds
if (repeats > 1) drain();
console.log(JSON.stringify(Array.from({ length: repeats }, drain)));
