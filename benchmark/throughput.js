// `npm run bench -- throughput`: whole runs of short blocks on worker processes, from call to return.
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { runBlockwise } from '../dist/index.js';
import { task1d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { figure, median, rateResult, result } from './results.js';
import { makeTask } from './tasks.js';
import { measureLoneBlock, measureWire } from './wire.js';

const functions = new URL('./work/block-functions.js', import.meta.url);
const functionNamed = (name) => ({ processFunction: { module: functions, export: name } });
const external = fileURLToPath(new URL('./work/external.js', import.meta.url));

/** How blocks reach their function. */
const modes = {
	'block function': functionNamed('nothing'),
	'async block function': functionNamed('nothingAsync'),
	'worker function': { workerFunction: new URL('./work/worker-function.js', import.meta.url) },
	'external worker': {
		workerFunction: new URL('./work/worker-function.js', import.meta.url),
		launcher: { start: startExternal },
	},
};

/** A launcher whose workers are programs of their own, as a cluster's would be. */
async function startExternal(spec) {
	const child = spawn(process.execPath, [external], {
		env: { ...process.env, ...spec.env, ...spec.context.toEnv() },
		stdio: ['ignore', 'ignore', 'inherit'],
	});
	const exited = new Promise((resolve) => {
		child.on('close', (code, signal) => resolve({ code, signal }));
	});
	return {
		exited,
		stop: async () => {
			child.kill('SIGKILL');
			await exited;
		},
		describe: () => `external worker, process ${child.pid}`,
	};
}

/** Seconds from call to return of a run of `blocks` no-op blocks. */
async function runOnce(blocks, workers, more) {
	const task = makeTask(task1d(blocks), { maxWorkers: workers, ...more });
	const start = performance.now();
	const ok = await runBlockwise(task, { progress: false, summary: false });
	if (!ok) throw new Error(`a run of ${blocks} blocks on ${workers} workers did not complete`);
	return (performance.now() - start) / 1000;
}

async function repeated(times, once) {
	const values = [];
	for (let i = 0; i < times; i++) values.push(await once());
	return values;
}

/**
 * Measures all modes and worker counts.
 *
 * @param {{ quick?: boolean, peers: boolean }} options
 */
export async function measure({ quick = false, peers = true }) {
	const repeats = quick ? 1 : 3;
	const counts = quick ? [1, 4, 16] : [1, 2, 4, 16, 64];
	const results = [];
	const add = (row) => {
		results.push(row);
		console.log(
			`${row.case.padEnd(24)} ${row.metric.padEnd(10)} ${row.impl.padEnd(22)} ${figure(row.value)} ${row.unit}`,
		);
	};

	for (const workers of counts) {
		const wall = {};
		for (const blocks of [100, 20_000, 200_000]) {
			const name = `${blocks}-w${workers}`;
			const seconds = await repeated(repeats, () =>
				runOnce(blocks, workers, modes['block function']),
			);
			wall[blocks] = median(seconds);
			add(result(name, 'bellis', 'run', 's', seconds));
			if (peers && blocks <= (quick ? 20_000 : 200_000)) {
				const times = await repeated(blocks > 20_000 ? 1 : repeats, () =>
					measurePeer('daisy-2.0.0', { what: 'run', task: task1d(blocks), workers }),
				);
				add(
					result(
						name,
						'daisy-2.0.0',
						'run',
						's',
						times.map(({ seconds: s }) => s),
					),
				);
			}
		}
		const long = quick ? 1_000_000 : 2_000_000;
		const marginal = await repeated(repeats, async () => {
			const seconds = await runOnce(long, workers, modes['block function']);
			return (long - 200_000) / (seconds - wall[200_000]);
		});
		add(rateResult(`marginal-w${workers}`, 'bellis', 'marginal', marginal));
		if (peers) {
			const first = results.find(
				(row) => row.case === `20000-w${workers}` && row.impl === 'daisy-2.0.0',
			);
			const second = results.find(
				(row) => row.case === `200000-w${workers}` && row.impl === 'daisy-2.0.0',
			);
			if (first && second) {
				const rate = 180_000 / (second.value - first.value);
				add(rateResult(`marginal-w${workers}`, 'daisy-2.0.0', 'marginal', [rate]));
			}
			const piscina = await repeated(repeats, () => piscinaRate(workers));
			add(rateResult(`marginal-w${workers}`, 'piscina', 'marginal', piscina));
		}
	}
	for (const row of await measureWire(quick)) add(row);
	for (const row of await measureLoneBlock(quick ? 100 : 500)) add(row);
	if (!quick) {
		for (const [mode, more] of Object.entries(modes)) {
			for (const workers of [1, 4, 16]) {
				const seconds = await repeated(repeats, () => runOnce(20_000, workers, more));
				add(result(`20000-w${workers}`, `bellis, ${mode}`, 'run', 's', seconds));
			}
		}
		const spin = await repeated(repeats, async () => {
			const short = await runOnce(1, 1, functionNamed('spinOneMs'));
			return (await runOnce(5_001, 1, functionNamed('spinOneMs'))) - short;
		});
		add(result('5000-spin-1ms-w1', 'bellis', 'run', 's', spin));
		const waits = await repeated(1, () => runOnce(80, 4, functionNamed('wait100Ms')));
		add(result('80-wait-100ms-w4', 'bellis', 'run', 's', waits));
		if (peers) {
			const { seconds } = await measurePeer('daisy-1.2.3', {
				what: 'run',
				task: task1d(1_000),
				blocks: 1_000,
				workers: 4,
			});
			add(rateResult('1000-w4', 'daisy-1.2.3', 'throughput', [1_000 / seconds]));
		}
	}
	return results;
}

/** Tasks per second of a warm piscina pool, 256 in flight at a time. */
async function piscinaRate(workers) {
	const pool = new Piscina({
		filename: new URL('./work/piscina-task.js', import.meta.url).href,
		minThreads: workers,
		maxThreads: workers,
	});
	try {
		await pool.run(0);
		const blocks = 50_000;
		let next = 0;
		const start = performance.now();
		const lane = async () => {
			while (next < blocks) await pool.run(next++);
		};
		await Promise.all(Array.from({ length: 256 }, lane));
		return blocks / ((performance.now() - start) / 1000);
	} finally {
		await pool.destroy();
	}
}
