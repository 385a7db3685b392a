// `npm run bench -- drain`: blocks per second from the scheduler alone, without workers.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { runBlockwise, Scheduler } from '../dist/index.js';
import { drainInBatches, drainPlain, drainSingly, measureRust } from './drain-measures.js';
import { drainPlot } from './drain-plot.js';
import { chain3d, task1d, task3d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { figure, rateResult, result } from './results.js';
import { makeTask } from './tasks.js';

const plotFile = fileURLToPath(new URL('drain.svg', import.meta.url));

/** Cases: tasks, and how often each implementation is measured (0: left out). */
const cases = {
	'1d-100000': { tasks: [task1d(100_000)], peer1: 1 },
	'3d-8000': { tasks: [task3d(20)], peer1: 1 },
	'3d-64000': { tasks: [task3d(40)] },
	'3d-1000000': { tasks: [task3d(100)], plain: 1, peer2: 1 },
	chain: { tasks: chain3d(32), peer2: 1 },
	// the scheduler written by hand keeps no record to resume from
	resumed: { tasks: [task3d(40)], plain: 0, resumed: true },
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

	const rust = await measureRust(repeats, names);
	for (const name of names) {
		const { tasks, resumed = false, plain = repeats, peer1 = 0, peer2 = repeats } = cases[name];
		if (rust[name]) add(name, 'bellis-rust', rust[name]);
		const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
		try {
			const store = resumed ? await finishedStore(tasks[0], folder) : undefined;
			const more = store ? { trackingPath: store } : {};
			const own = (drainOnce) => repeat(repeats, () => drainOnce(tasks, more));
			add(name, 'bellis-ts', own(drainSingly));
			add(name, 'bellis-ts-batch', own(drainInBatches));
			if (plain > 0) add(name, 'plain-ts', await drainPlain(tasks, plain));
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
		results.push(...(await measureMasked(repeats, peers)));
		results.push(...(await measureScale()));
		results.push(...(await measureFrontier()));
		writeFileSync(plotFile, await drainPlot({ peers }));
	}
	return results;
}

/** A million blocks, all masked, through a run. */
async function measureMasked(repeats, peers) {
	const name = 'masked-1000000';
	const rates = [];
	for (let i = 0; i < repeats; i++) rates.push(await runMasked(100));
	const rows = [rateResult(name, 'bellis', 'run', rates)];
	if (peers) {
		const ask = { what: 'run', task: task3d(100), workers: 4, masked: true };
		rows.push(rateResult(name, 'daisy-2.0.0', 'run', await peerRates('daisy-2.0.0', ask, 1)));
	}
	return rows;
}

/** Large tasks once, each in a process of its own, with the memory that they took; and the making of one of 10^9. */
async function measureScale() {
	const rows = [];
	for (const side of [46, 215, 464]) {
		const name = `3d-${side ** 3}`;
		const measured = await measureRust(1, [`memory:cube:${side}`]);
		const [rate, bytes] = measured[`memory:cube:${side}`];
		rows.push(rateResult(name, 'bellis-rust', 'drain', [rate]));
		if (bytes > 0) rows.push(result(name, 'bellis-rust', 'peak resident', 'bytes', [bytes]));
	}
	const resident = process.memoryUsage.rss();
	const start = performance.now();
	const scheduler = new Scheduler(makeTask(task3d(1000)));
	rows.push(result('3d-1000000000', 'bellis-ts', 'build', 'ms', [performance.now() - start]));
	const more = Math.max(0, process.memoryUsage.rss() - resident);
	rows.push(result('3d-1000000000', 'bellis-ts', 'resident by building', 'bytes', [more]));
	scheduler[Symbol.dispose]();
	return rows;
}

/** The most blocks of the first task of a chain that are finished and still needed, in both orders. */
async function measureFrontier() {
	const { 'peak:chain': peaks } = await measureRust(1, ['peak:chain']);
	return ['levels', 'depth-first'].map((order, i) =>
		result('chain', `bellis-rust ${order}`, 'open frontier at its peak', 'blocks', [peaks[i]]),
	);
}

function repeat(n, measureOnce) {
	measureOnce();
	return Array.from({ length: n }, measureOnce);
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
