// Draining a scheduler without workers, in each of the ways that the benchmark compares.
import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chain, Scheduler } from '../dist/index.js';
import { makeTask } from './tasks.js';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

function pipelineOf(tasks, more) {
	const made = tasks.map((task) => makeTask(task, more));
	return made.length === 1 ? made[0] : chain(...made);
}

/** Times the making of a scheduler and a drain of it; gives blocks per second, skipped ones included. */
function drainWith(tasks, more, drainTask) {
	const pipeline = pipelineOf(tasks, more);
	const start = performance.now();
	const scheduler = new Scheduler(pipeline, { blockTracking: Boolean(more.trackingPath) });
	for (const { taskId } of tasks) drainTask(scheduler, taskId);
	const seconds = (performance.now() - start) / 1000;
	const blocks = tasks.reduce((sum, { taskId }) => sum + scheduler.states[taskId].completed, 0);
	scheduler[Symbol.dispose]();
	return blocks / seconds;
}

/** One `acquire` and one `release` a block. */
export function drainSingly(tasks, more = {}) {
	return drainWith(tasks, more, (scheduler, taskId) => {
		for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
			scheduler.release(block);
		}
	});
}

/** A batch of up to 1,024 blocks at a time. */
export function drainInBatches(tasks, more = {}) {
	return drainWith(tasks, more, (scheduler, taskId) => {
		for (;;) {
			const batch = scheduler.acquireBatch(taskId, 1024);
			if (batch.length === 0) break;
			scheduler.releaseBatch(batch);
		}
	});
}

/** Rates of the scheduler that one would write by hand, in a process of its own: a million blocks need room. */
export async function drainPlain(tasks, repeats) {
	const program = fileURLToPath(new URL('plain-drain.js', import.meta.url));
	const { stdout } = await execute(process.execPath, [
		'--max-old-space-size=6144',
		program,
		JSON.stringify({ tasks, repeats }),
	]);
	return JSON.parse(stdout);
}

/**
 * Runs the bench program of the Rust core, in a process of its own.
 *
 * @param {number} repeats
 * @param {string[]} names cases, `peak:CASE` and `memory:CASE`, as the program names them
 * @returns {Promise<Record<string, number[]>>}
 */
export async function measureRust(repeats, names) {
	const program = ['run', '--release', '--quiet', '-p', 'bellis-core', '--example', 'drain_rate'];
	const { stdout } = await execute('cargo', [...program, '--', String(repeats), ...names], {
		cwd: root,
		maxBuffer: 1 << 24,
	});
	return JSON.parse(stdout);
}
