// The wire's share of the throughput suite: round trips, the native client's rates, and what encryption costs.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBlockwise } from '../dist/index.js';
import { benchLines, durationSeconds } from './core-bench.js';
import { task1d } from './geometries.js';
import { rateResult, result } from './results.js';
import { makeTask } from './tasks.js';

const loneBlock = new URL('./work/lone-block.js', import.meta.url);
/** The first blocks are sent ahead, until the driver has seen how long they take. */
const UNSETTLED = 10;

/** Rows of the crate's own bench: native client, no JavaScript. */
export async function measureWire(quick) {
	const rows = [];
	const row = (name, metric, unit, value) =>
		rows.push(result(name, 'bellis-rust', metric, unit, [value]));
	for (const line of await benchLines('bellis-net', 'throughput', quick ? ['--quick'] : [])) {
		const trip = /^(.+): p50 (\S+), p99 (\S+)$/.exec(line);
		if (trip) {
			const [, what, p50, p99] = trip;
			row(what, 'p50', 'µs', durationSeconds(p50) * 1e6);
			row(what, 'p99', 'µs', durationSeconds(p99) * 1e6);
		}
		const cost = /^(encryption of a message of \d+): (\S+) ns a block/.exec(line);
		if (cost) row(cost[1], 'encryption', 'ns/block', Number(cost[2]));
		const share = /^(encryption)'s share of (.+): (\S+) %$/.exec(line);
		if (share) row(share[2], 'encryption', '%', Number(share[3]));
		const rate = /^(\d+) workers: (\d+) blocks\/s$/.exec(line);
		if (rate)
			rows.push(rateResult(`native-w${rate[1]}`, 'bellis-rust', 'throughput', [Number(rate[2])]));
	}
	if (!rows.some(({ metric }) => metric === 'p50'))
		throw new Error('the wire bench printed no times');
	return rows;
}

/** From the end of a block function to its next call, where no block is sent ahead. Not pinned. */
export async function measureLoneBlock(blocks) {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-bench-'));
	try {
		const file = join(folder, 'trips.json');
		const task = makeTask(task1d(blocks), {
			maxWorkers: 1,
			processFunction: loneBlock,
			config: { file },
		});
		const ok = await runBlockwise(task, {
			progress: false,
			summary: false,
			logDir: join(folder, 'logs'),
		});
		if (!ok) throw new Error('a run of lone blocks did not complete');
		const trips = JSON.parse(readFileSync(file, 'utf8')).slice(UNSETTLED);
		trips.sort((a, b) => a - b);
		const at = (share) => trips[Math.floor((trips.length * share) / 100)] * 1000;
		return ['p50', 'p99'].map((metric) => ({
			...result('lone block, not pinned', 'bellis, JavaScript', metric, 'µs', [
				at(Number(metric.slice(1))),
			]),
			n: trips.length,
		}));
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
