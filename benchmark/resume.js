// `npm run bench -- resume`: what it costs to take in a finished or half-finished run.
import {
	closeSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readdirSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { runBlockwise } from '../dist/index.js';
import { makeTask } from './drain.js';
import { task1d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { figure, result } from './results.js';

const functions = new URL('./work/block-functions.js', import.meta.url);

/** Cases: blocks in the store, and how many of them are done. */
const cases = {
	'done-20000': { blocks: 20_000, done: 20_000, peer: true },
	'done-1000000': { blocks: 1_000_000, done: 1_000_000, peer: true },
	'half-1000000': { blocks: 1_000_000, done: 500_000 },
	'done-100000000': { blocks: 100_000_000, done: 100_000_000 },
};

/**
 * Measures all cases.
 *
 * @param {{ quick?: boolean, peers: boolean }} options
 */
export async function measure({ quick = false, peers = true }) {
	const repeats = quick ? 3 : 5;
	const results = [];
	const add = (row) => {
		results.push(row);
		console.log(
			`${row.case.padEnd(16)} ${row.metric.padEnd(10)} ${row.impl.padEnd(24)} ${figure(row.value)} ${row.unit}`,
		);
	};
	for (const [name, { blocks, done, peer = false }] of Object.entries(cases)) {
		if (quick && blocks > 1_000_000) continue;
		const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
		try {
			const store = join(folder, 'store');
			await makeStore(blocks, done, store);
			const seconds = [];
			const starts = [];
			// A half-done run completes what is left: only its first repeat finds it half done.
			const times = done === blocks ? repeats : 1;
			for (let i = 0; i < times; i++) {
				const task = taskOf(blocks, store);
				const start = performance.now();
				const states = await runBlockwise(task, {
					progress: false,
					summary: false,
					returnStates: true,
				});
				seconds.push((performance.now() - start) / 1000);
				starts.push(states.t.workerStarts);
				if (states.t.completed !== blocks)
					throw new Error(`${name}: ${states.t.completed} of ${blocks}`);
			}
			add(result(name, 'bellis', 'resume', 's', seconds));
			add(result(name, 'bellis', 'starts', 'processes', starts));
			add(result(name, 'bellis', 'peak', 'MB', [process.resourceUsage().maxRSS / 1024]));
			if (peers && peer) {
				const answers = [];
				for (let i = 0; i < Math.min(repeats, 3); i++) {
					answers.push(
						await measurePeer('daisy-2.0.0', {
							what: 'run',
							task: task1d(blocks),
							workers: 4,
							trackingPath: store,
						}),
					);
				}
				add(
					result(
						name,
						'daisy-2.0.0',
						'resume',
						's',
						answers.map((answer) => answer.seconds),
					),
				);
				add(
					result(
						name,
						'daisy-2.0.0',
						'starts',
						'processes',
						answers.map((answer) => answer.starts),
					),
				);
				add(
					result(
						name,
						'daisy-2.0.0',
						'peak',
						'MB',
						answers.map((answer) => answer.peakRssBytes / 2 ** 20),
					),
				);
			}
			if (peers && name === 'done-20000') {
				const markers = join(folder, 'markers');
				mkdirSync(markers);
				for (let i = 0; i < blocks; i++) closeSync(openSync(join(markers, String(i)), 'w'));
				const { seconds: taken } = await measurePeer('daisy-2.0.0', {
					what: 'run',
					task: task1d(blocks),
					workers: 4,
					markers,
				});
				add(result(name, 'daisy-2.0.0, marker files', 'resume', 's', [taken]));
			}
		} finally {
			rmSync(folder, { recursive: true, force: true });
		}
	}
	add(
		result('record', 'bellis', 'run', 'ns/block', await recordingCost(quick ? 200_000 : 1_000_000)),
	);
	return results;
}

function taskOf(blocks, store) {
	return makeTask(task1d(blocks), {
		trackingPath: store,
		maxWorkers: 4,
		processFunction: { module: functions, export: 'nothing' },
	});
}

/** A store of `blocks` cells whose first `done` are done: made by a run of one masked-out rest, then filled. */
async function makeStore(blocks, done, store) {
	const skipMask = new Uint8Array(blocks).fill(1);
	await runBlockwise(
		makeTask(task1d(blocks), { trackingPath: store, skipMask, processFunction: () => {} }),
		{ multiprocessing: false, progress: false, summary: false },
	);
	const chunk = join(store, 'done', 'c', '0');
	if (!readdirSync(join(store, 'done', 'c')).includes('0')) throw new Error(`no chunk at ${chunk}`);
	const file = openSync(chunk, 'r+');
	try {
		const ones = Buffer.alloc(1 << 20, 1);
		for (let at = 0; at < done; at += ones.length) {
			writeSync(file, ones, 0, Math.min(ones.length, done - at), at);
		}
	} finally {
		closeSync(file);
	}
}

/** What tracking adds to a run, per block, in nanoseconds: with all arrays against without a store. */
async function recordingCost(blocks) {
	const timed = async (more) => {
		const task = makeTask(task1d(blocks), {
			maxWorkers: 2,
			processFunction: { module: functions, export: 'nothing' },
			...more,
		});
		const start = performance.now();
		await runBlockwise(task, { progress: false, summary: false });
		return performance.now() - start;
	};
	const costs = [];
	for (let i = 0; i < 3; i++) {
		const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
		try {
			const without = await timed({});
			const withStore = await timed({ trackingPath: join(folder, 'store') });
			costs.push(((withStore - without) * 1e6) / blocks);
		} finally {
			rmSync(folder, { recursive: true, force: true });
		}
	}
	return costs;
}
