// `npm run bench -- drain`: blocks per second from the scheduler alone, without workers.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chain, runBlockwise, Scheduler } from '../dist/index.js';
import { drainPlot } from './drain-plot.js';
import { chain3d, task1d, task3d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { PlainScheduler } from './plain-scheduler.js';
import { figure, rateResult } from './results.js';
import { makeTask } from './tasks.js';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

/** Cases: tasks, and how often each implementation is measured (0: left out). */
const cases = {
	'1d-100000': { tasks: [task1d(100_000)], peer1: 1 },
	'3d-8000': { tasks: [task3d(20)], peer1: 1 },
	'3d-64000': { tasks: [task3d(40)] },
	'3d-1000000': { tasks: [task3d(100)], peer2: 1 },
	chain: { tasks: chain3d(32) },
	resumed: { tasks: [task3d(40)], resumed: true },
};

/**
 * Measures all implementations on all cases.
 *
 * @param {{ quick?: boolean, peers: boolean }} options
 */
export async function measure({ quick = false, peers = true }) {
	const repeats = quick ? 3 : 5;
	const names = quick ? ['3d-64000', '1d-100000'] : Object.keys(cases);
	const results = [];
	const add = (name, impl, rates) => {
		const row = rateResult(name, impl, 'drain', rates);
		results.push(row);
		console.log(`${name.padEnd(12)} ${impl.padEnd(16)} ${figure(row.value)} blocks/s`);
	};

	const rust = await measureRust(names, repeats);
	for (const name of names) {
		const { tasks, resumed = false, peer1 = 0, peer2 = repeats } = cases[name];
		if (rust[name]) add(name, 'bellis-rust', rust[name]);
		const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
		try {
			const store = resumed ? await finishedStore(tasks[0], folder) : undefined;
			const more = store ? { trackingPath: store } : {};
			const own = (drainOnce) => repeat(repeats, () => drainOnce(tasks, more));
			add(name, 'bellis-ts', own(drainSingly));
			add(name, 'bellis-ts-batch', own(drainInBatches));
			if (!resumed && name !== '3d-1000000')
				add(
					name,
					'plain-ts',
					repeat(repeats, () => drainPlain(tasks)),
				);
			if (peers) {
				const specs = tasks.map((task) => (store ? { ...task, trackingPath: store } : task));
				const ask = { what: 'drain', tasks: specs };
				add(name, 'daisy-2.0.0', await peerRates('daisy-2.0.0', ask, peer2));
				if (peer1) add(name, 'daisy-1.2.3', await peerRates('daisy-1.2.3', ask, peer1));
			}
		} finally {
			rmSync(folder, { recursive: true, force: true });
		}
	}
	if (!quick) {
		const rates = [];
		for (let i = 0; i < repeats; i++) rates.push(await runMasked(100));
		const row = rateResult('masked-1000000', 'bellis', 'run', rates);
		results.push(row);
		if (peers) {
			const ask = { what: 'run', task: task3d(100), workers: 4, masked: true };
			results.push(
				rateResult('masked-1000000', 'daisy-2.0.0', 'run', await peerRates('daisy-2.0.0', ask, 1)),
			);
		}
		writeFileSync(join(root, 'benchmark', 'drain.svg'), await drainPlot({ peers }));
	}
	return results;
}

function repeat(n, measureOnce) {
	measureOnce();
	return Array.from({ length: n }, measureOnce);
}

function timed(work) {
	const start = performance.now();
	const blocks = work();
	return blocks / ((performance.now() - start) / 1000);
}

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

/** The scheduler that one would write by hand. */
export function drainPlain(tasks) {
	return timed(() => {
		const scheduler = new PlainScheduler(tasks);
		let blocks = 0;
		for (const { taskId } of tasks) {
			for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
				scheduler.release(block);
				blocks++;
			}
		}
		return blocks;
	});
}

/** Rates of the Rust core, from its own bench program. */
async function measureRust(names, repeats) {
	const { stdout } = await execute(
		'cargo',
		[
			'run',
			'--release',
			'--quiet',
			'-p',
			'bellis-core',
			'--example',
			'drain_rate',
			'--',
			String(repeats),
			...names,
		],
		{ cwd: root, maxBuffer: 1 << 24 },
	);
	return JSON.parse(stdout);
}

async function peerRates(name, request, times) {
	const rates = [];
	for (let i = 0; i < times; i++) {
		const { blocks, seconds } = await measurePeer(name, request);
		rates.push((blocks || request.tasks?.reduce(countBlocks, 0)) / seconds);
	}
	return rates;
}

const countBlocks = (sum, { total, read, write }) =>
	sum +
	total[1].reduce(
		(product, size, axis) =>
			product * Math.floor((size - read[1][axis] + write[1][axis]) / write[1][axis]),
		1,
	);

/** A store in which every block of a geometry is done. */
async function finishedStore(geometry, folder) {
	const store = join(folder, 'store');
	const task = makeTask(geometry, { trackingPath: store, processFunction: () => {} });
	await runBlockwise(task, { multiprocessing: false, progress: false, summary: false });
	return store;
}

/** `side`³ blocks, all masked, through `runBlockwise`. */
async function runMasked(side) {
	const geometry = task3d(side);
	const skipMask = new Uint8Array(side ** 3).fill(1);
	const task = makeTask(geometry, { skipMask, processFunction: () => {}, maxWorkers: 4 });
	const start = performance.now();
	await runBlockwise(task, { progress: false, summary: false });
	return side ** 3 / ((performance.now() - start) / 1000);
}
