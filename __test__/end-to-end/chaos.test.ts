import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { Server } from '../../src/run/server.js';
import { fixture, gone, line, lives, Scratch } from './scratch.js';

/** How long to make trouble. The longer, the more histories. */
const SECONDS = Number(process.env.BELLIS_CHAOS_SECONDS ?? 10);
const SEED = Number(process.env.BELLIS_TEST_SEED ?? Date.now() % 1_000_000);

/** Numbers from 0 to 1, the same for the same seed. */
function dice(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) >>> 0;
		return state / 2 ** 32;
	};
}

test.serial(
	'workers are killed, stopped and continued at random: every block is done, and nothing is left over',
	async (t) => {
		t.log(`BELLIS_TEST_SEED=${SEED}`);
		t.timeout((SECONDS + 60) * 1000);
		const random = dice(SEED);
		const pick = (most: number) => Math.floor(random() * most);
		const end = performance.now() + SECONDS * 1000;
		let runs = 0;
		let injuries = 0;
		while (performance.now() < end) {
			const scratch = new Scratch(t);
			const pids = scratch.path('pids');
			const blocks = 20 + pick(200);
			const workers = 1 + pick(4);
			const concurrency = 1 + pick(2) * pick(4);
			const task = line(
				scratch,
				blocks,
				{},
				{
					processFunction: { module: fixture('noop.js'), export: 'works' },
					config: { calls: scratch.calls, pids, ms: pick(8) },
					maxWorkers: workers,
					maxRetries: 1000,
					maxWorkerRestarts: 1000,
					concurrency,
				},
			);
			const run = new Server().runBlockwise(task, {
				...scratch.quiet,
				trackingDir: scratch.path('stores'),
			});
			let over = false;
			const state = run.then((states) => {
				over = true;
				return states.line!;
			});
			const known = () =>
				existsSync(pids)
					? [...new Set(readFileSync(pids, 'utf8').trimEnd().split('\n').map(Number))]
					: [];
			let injured = 0;
			while (!over) {
				await Promise.race([state, new Promise((resolve) => setTimeout(resolve, 20 + pick(150)))]);
				const alive = known().filter(lives);
				// enough is enough: some runs have to come to an end
				if (over || alive.length === 0 || injured >= 8) continue;
				const victim = alive[pick(alive.length)]!;
				try {
					if (pick(4) > 0) {
						process.kill(victim, 'SIGKILL');
					} else {
						process.kill(victim, 'SIGSTOP');
						setTimeout(() => {
							try {
								process.kill(victim, 'SIGCONT');
							} catch {
								// was given up and killed
							}
						}, pick(6000));
					}
					injured++;
				} catch {
					// ended meanwhile
				}
			}
			const { completed, failed, orphaned, total } = await state;
			t.deepEqual([completed, failed, orphaned, total], [blocks, 0, 0, blocks], `run ${runs}`);
			t.is(Object.keys(scratch.callsOf()).length, blocks);
			// only what was running in a worker that was injured may have run again
			t.true(scratch.lines().length - blocks <= injured * concurrency, `run ${runs}`);
			const done = readFileSync(scratch.path('stores/line/done/c/0'));
			t.true(done.every((mark) => mark === 1));
			await gone(known());
			injuries += injured;
			runs++;
		}
		t.log(`${runs} runs, ${injuries} injuries`);
		t.true(injuries > 0);
	},
);
