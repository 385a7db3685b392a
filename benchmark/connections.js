// `npm run bench -- connections`: thousands of workers, played by one thread of another process.
import { benchLines, durationSeconds } from './core-bench.js';
import { rateResult, result } from './results.js';

const line =
	/^(\d+) workers: connected in (\S+); (\d+) blocks\/s; longest wait (\S+); (\d+) to (\d+) blocks each; driver's memory (\S+) KiB each idle, (\S+) KiB each busy; driver's processor (\S+) µs\/s each idle, (\S+) µs\/s each busy, (\d+) ns a block$/;

/**
 * Runs the program and turns its lines into rows. Memory and processor time are the driver's alone.
 *
 * @param {{ quick?: boolean }} options
 */
export async function measure({ quick = false }) {
	const results = [];
	for (const text of await benchLines('bellis-net', 'connections', quick ? ['--quick'] : [])) {
		const found = line.exec(text);
		if (!found) continue;
		const [, workers, connected, rate, wait, least, most, ...costs] = found;
		const [memoryIdle, memoryBusy, idle, busy, block] = costs.map(Number);
		const name = `${workers}-connections`;
		const add = (metric, unit, value) =>
			results.push(result(name, 'bellis', metric, unit, [value]));
		add('all connected', 'ms', durationSeconds(connected) * 1000);
		results.push(rateResult(name, 'bellis', 'throughput', [Number(rate)]));
		add('longest wait', 'ms', durationSeconds(wait) * 1000);
		add('fewest blocks of one', 'blocks', Number(least));
		add('most blocks of one', 'blocks', Number(most));
		add('memory, idle', 'KiB/connection', memoryIdle);
		add('memory, busy', 'KiB/connection', memoryBusy);
		add('processor, heartbeats only', 'µs/s/connection', idle);
		add('processor, busy', 'µs/s/connection', busy);
		add('processor', 'ns/block', block);
	}
	if (results.length === 0) throw new Error('the connections bench printed no figures');
	return results;
}
