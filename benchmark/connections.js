// `npm run bench -- connections`: thousands of workers, played by one thread, served by one run.
import { benchLines, durationSeconds } from './core-bench.js';
import { rateResult, result } from './results.js';

const line =
	/^(\d+) workers, connected in (\S+): (\d+) blocks\/s, longest wait (\S+), (\d+) to (\d+) blocks each, ([\d.]+) KiB each/;

/** Runs the program and turns its lines into rows. */
export async function measure() {
	const results = [];
	for (const text of await benchLines('connections')) {
		const found = line.exec(text);
		if (!found) continue;
		const [, workers, , rate, wait, , , memory] = found;
		const name = `${workers}-connections`;
		results.push(
			rateResult(name, 'bellis', 'throughput', [Number(rate)]),
			result(name, 'bellis', 'longest wait', 'ms', [durationSeconds(wait) * 1000]),
			result(name, 'bellis', 'memory, both ends', 'KiB/connection', [Number(memory)]),
		);
	}
	if (results.length === 0) throw new Error('the connections bench printed no figures');
	return results;
}
