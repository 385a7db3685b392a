// `npm run bench -- resume`: what it costs to take in a finished or half-finished run, and to record one.
import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runBlockwise } from '../dist/index.js';
import { benchLines, divanMedians } from './core-bench.js';
import { task1d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { figure, result } from './results.js';
import { makeTask } from './tasks.js';

const execute = promisify(execFile);
const functions = new URL('./work/block-functions.js', import.meta.url);
const program = fileURLToPath(new URL('./work/resume-run.js', import.meta.url));
const quiet = { progress: { onEvent: () => {} }, summary: false };
const WORKERS = 4;

/**
 * Cases: blocks in the store, how many of them are done, and how often daisy is measured: a half-done run
 * takes it a minute, and the largest one minutes.
 */
const cases = {
	'done-20000': { blocks: 20_000, done: 20_000, peer: 3 },
	'done-1000000': { blocks: 1_000_000, done: 1_000_000, peer: 3 },
	'half-1000000': { blocks: 1_000_000, done: 500_000, peer: 1, slowPeer: true },
	'done-100000000': { blocks: 100_000_000, done: 100_000_000, peer: 0 },
};

/**
 * Measures all cases, each of bellis's in a fresh process as daisy's are.
 *
 * @param {{ quick?: boolean, peers: boolean }} options
 */
export async function measure({ quick = false, peers = true }) {
	const repeats = quick ? 3 : 5;
	const results = [];
	const add = (name, impl, metric, unit, values, n = values.length) => {
		const row = { ...result(name, impl, metric, unit, values), n };
		results.push(row);
		console.log(
			`${name.padEnd(16)} ${metric.padEnd(10)} ${impl.padEnd(26)} ${figure(row.value)} ${unit}`,
		);
	};
	for (const [name, { blocks, done, peer, slowPeer = false }] of Object.entries(cases)) {
		if (quick && blocks > 1_000_000) continue;
		await inFolder(async (folder) => {
			const store = join(folder, 'store');
			await makeStore(blocks, done, store);
			const all = done === blocks;
			const answers = [];
			for (let i = 0; i < repeats; i++) {
				// what is left of a half-done run is done by the first repeat
				if (i > 0 && !all) mark(store, blocks, done);
				answers.push(await resume({ blocks, store, repeats: all ? repeats : 1, folder }));
				if (answers[i].skipped[0] !== done) throw new Error(`${name}: ${answers[i].skipped}`);
			}
			addRuns(add, name, 'bellis', {
				seconds: answers.map(({ seconds }) => seconds[0]),
				starts: answers.map(({ starts }) => starts[0]),
				peaks: answers.map(({ peakRssBytes }) => peakRssBytes),
			});
			const again = answers.flatMap(({ seconds }) => seconds.slice(1));
			if (again.length > 0) add(name, 'bellis, same process', 'resume', 's', again);
			if (!peers || (quick && slowPeer)) return;
			const theirs = [];
			for (let i = 0; i < peer; i++) {
				if (!all) mark(store, blocks, done);
				theirs.push(await daisy({ task: task1d(blocks), trackingPath: store }));
			}
			if (theirs.length === 0) return;
			const wrong = theirs.find(({ skipped }) => skipped !== done);
			if (wrong) throw new Error(`${name}: daisy skipped ${wrong.skipped}`);
			addRuns(add, name, 'daisy-2.0.0', {
				seconds: theirs.map(({ seconds }) => seconds),
				starts: theirs.map(({ starts }) => starts),
				peaks: theirs.map(({ peakRssBytes }) => peakRssBytes),
			});
			if (name !== 'done-20000') return;
			const markers = join(folder, 'markers');
			mkdirSync(markers);
			for (let i = 0; i < blocks; i++) closeSync(openSync(join(markers, String(i)), 'w'));
			const checked = await daisy({ task: task1d(blocks), markers });
			add(name, 'daisy-2.0.0, marker files', 'resume', 's', [checked.seconds]);
		});
	}
	await measureRecord(add);
	const blocks = quick ? 200_000 : 1_000_000;
	const recording = await recordingCost(blocks);
	add('run', 'bellis, marks', 'tracking', 'ns/block', recording.marks);
	add('run', 'bellis, all arrays, measured', 'tracking', 'ns/block', recording.all);
	return results;
}

/** What recording a block costs the driver, without a run around it: 10^6 blocks in the order of hand-out. */
async function measureRecord(add) {
	const medians = divanMedians(await benchLines('bellis-tracking', 'store', ['record_with']));
	const pages = {
		allocated: 'record_with_pages_allocated',
		'first touch': 'record_with_first_touch',
	};
	for (const [which, bench] of Object.entries(pages)) {
		for (const [arrays, argument] of [
			['marks', 'false'],
			['all arrays', 'true'],
		]) {
			const { seconds, samples } = medians[`${bench}/${argument}`];
			add(
				`record, ${which}`,
				`bellis-rust, ${arrays}`,
				'record',
				'ns/block',
				[seconds * 1000],
				samples,
			);
		}
	}
}

function addRuns(add, name, impl, { seconds, starts, peaks }) {
	add(name, impl, 'resume', 's', seconds);
	add(name, impl, 'starts', 'processes', starts);
	add(
		name,
		impl,
		'peak',
		'MB',
		peaks.map((bytes) => bytes / 2 ** 20),
	);
}

async function resume({ blocks, store, repeats, folder }) {
	const request = { task: task1d(blocks), store, workers: WORKERS, repeats };
	// the working directory holds the logs
	const { stdout } = await execute(process.execPath, [program, JSON.stringify(request)], {
		cwd: folder,
	});
	return JSON.parse(stdout.trim().split('\n').at(-1));
}

function daisy(request) {
	return measurePeer('daisy-2.0.0', { what: 'run', workers: WORKERS, ...request });
}

async function inFolder(body) {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
	try {
		return await body(folder);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** A store of `blocks` cells whose first `done` are done: made by a run with all blocks masked, then filled. */
async function makeStore(blocks, done, store) {
	const skipMask = new Uint8Array(blocks).fill(1);
	await runBlockwise(
		makeTask(task1d(blocks), { trackingPath: store, skipMask, processFunction: () => {} }),
		{ ...quiet, multiprocessing: false },
	);
	mark(store, blocks, done);
}

/** Marks the first `done` cells of a 1-D store, and no others. */
function mark(store, blocks, done) {
	const file = openSync(join(store, 'done', 'c', '0'), 'r+');
	try {
		const step = 1 << 20;
		for (let at = 0; at < blocks; at += step) {
			const marks = new Uint8Array(Math.min(step, blocks - at));
			marks.fill(1, 0, Math.max(0, Math.min(marks.length, done - at)));
			writeSync(file, marks, 0, marks.length, at);
		}
	} finally {
		closeSync(file);
	}
}

/** What tracking adds to a run, per block, in nanoseconds: with a store against without one. */
async function recordingCost(blocks) {
	const timed = (more) =>
		inFolder(async (folder) => {
			const task = makeTask(task1d(blocks), {
				maxWorkers: 2,
				processFunction: { module: functions, export: 'nothing' },
				...(more && { ...more, trackingPath: join(folder, 'store') }),
			});
			const start = performance.now();
			await runBlockwise(task, { ...quiet, logDir: join(folder, 'logs') });
			return performance.now() - start;
		});
	const costs = { marks: [], all: [] };
	for (let i = 0; i < 3; i++) {
		const without = await timed(null);
		const added = async (more) => (((await timed(more)) - without) * 1e6) / blocks;
		costs.marks.push(await added({}));
		costs.all.push(await added({ resourceTracking: true }));
	}
	return costs;
}
