// `npm run bench -- timers`: how late a timer of the program that drives a run is.
import { performance } from 'node:perf_hooks';
import { runBlockwise } from '../dist/index.js';
import { task1d } from './geometries.js';
import { result } from './results.js';
import { makeTask } from './tasks.js';

const functions = new URL('./work/block-functions.js', import.meta.url);
const PERIOD_MS = 10;

/** Starts a timer of 10 ms; the function given stops it and gives how late each tick was, in milliseconds, sorted. */
function watchTimer() {
	const late = [];
	let last = performance.now();
	const timer = setInterval(() => {
		const now = performance.now();
		late.push(Math.max(0, now - last - PERIOD_MS));
		last = now;
	}, PERIOD_MS);
	return () => {
		clearInterval(timer);
		return late.sort((a, b) => a - b);
	};
}

const quantile = (sorted, share) =>
	sorted[Math.min(sorted.length - 1, (sorted.length * share) | 0)];

/**
 * One worker that works through blocks of 100 µs, and, for comparison, a program that only waits as long.
 *
 * @param {{ quick?: boolean }} options
 */
export async function measure({ quick = false }) {
	const blocks = quick ? 30_000 : 300_000;
	const task = makeTask(task1d(blocks), {
		maxWorkers: 1,
		processFunction: { module: functions, export: 'spin100Us' },
	});
	const stop = watchTimer();
	const start = performance.now();
	await runBlockwise(task, { progress: false, summary: false });
	const seconds = (performance.now() - start) / 1000;
	const driving = stop();

	const stopIdle = watchTimer();
	await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
	const idle = stopIdle();

	const name = `${blocks}-w1-100us`;
	const rows = (impl, late) => [
		result(name, impl, 'lateness p99.9', 'ms', [quantile(late, 0.999)]),
		result(name, impl, 'lateness, most', 'ms', [late.at(-1)]),
	];
	return [
		result(name, 'bellis', 'rate', 'blocks/s', [blocks / seconds]),
		...rows('bellis', driving),
		...rows('an idle program', idle),
	];
}
