import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import test from 'ava';
import type { RunEvent } from '../../src/progress/events.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import type { Task } from '../../src/task/task.js';
import { fixture, line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const ENTRIES = 'One file or folder entry per block';

// Each figure is measured in a process that does nothing else.
const openFiles = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task').length;
const residentBytes = () =>
	Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))![1]) * 1024;

/**
 * Worker starts in one run. What leaks with each start shows in hundreds as in thousands; 2,000 take minutes,
 * and `BELLIS_MANY_STARTS=2000` makes them.
 */
const STARTS = Number(process.env.BELLIS_MANY_STARTS ?? 40);
/** Small runs in one process, of which each fortieth has a worker. `BELLIS_MANY_RUNS` makes more or fewer. */
const RUNS = Number(process.env.BELLIS_MANY_RUNS ?? 2000);

test.serial(
	`${ENTRIES}: open files grow with the workers alive, not with those that were started`,
	async (t) => {
		t.timeout((60 + STARTS) * 1000);
		const scratch = new Scratch(t);
		const before = openFiles();
		let alive = 0;
		let most = 0;
		const task = line(
			scratch,
			STARTS,
			{},
			{
				processFunction: { module: fixture('noop.js'), export: 'throwsAt' },
				config: { bad: Array.from({ length: STARTS }, (_, at) => at) },
				maxWorkers: 4,
				maxRetries: 0,
				maxWorkerRestarts: STARTS,
			},
		);
		const { line: state } = await new Server().runBlockwise(task, {
			...scratch.quiet,
			progress: {
				onEvent: (event: RunEvent) => {
					if (event.type === 'workerStarted') alive++;
					else if (event.type === 'workerExited') alive--;
					else return;
					most = Math.max(most, openFiles() - 10 * alive);
				},
			},
		});
		t.is(state!.failed, STARTS);
		t.true(state!.workerStarts >= STARTS);
		t.true(most > 0 && most < 100, `${most} open`);
		t.true(openFiles() <= before + 2);
		t.log(
			`${state!.workerStarts} starts, at most ${most} open files besides 10 for each worker alive`,
		);
	},
);

test.serial(
	'many small runs in one process, serial, all skipped and some with a worker, leave nothing behind',
	async (t) => {
		t.timeout(300_000);
		const scratch = new Scratch(t);
		const serial = { ...scratch.quiet, multiprocessing: false };
		const one = async (at: number) => {
			if (at % 40 === 0) {
				const task = line(scratch, 1, {}, { processFunction: fixture('noop.js') });
				t.true(await runBlockwise(task, scratch.quiet));
			} else if (at % 2 === 0) {
				t.true(await runBlockwise(line(scratch, 1, {}, { skipMask: [1] }), scratch.quiet));
			} else {
				t.true(await runBlockwise(line(scratch, 2, {}, { processFunction: () => {} }), serial));
			}
		};
		const counts = () => ({
			files: openFiles(),
			threads: threads(),
			resources: process.getActiveResourcesInfo().sort(),
			listeners: process.eventNames().map((name) => process.listenerCount(name)),
		});
		const quarter = Math.ceil(RUNS / 4);
		for (let at = 0; at < quarter; at++) await one(at);
		const before = counts();
		const memory = residentBytes();
		for (let at = quarter; at < RUNS; at++) await one(at);
		t.deepEqual(counts(), before);
		const grown = residentBytes() - memory;
		t.log(`${RUNS} runs, ${(grown / 2 ** 20).toFixed(1)} MB more after the last three quarters`);
		// what leaks with each run, even a few KB, is far more than what the heap takes and gives
		t.true(grown < 40 * 2 ** 20, `${grown} bytes`);
	},
);

test.serial(
	'timers of the program are on time while workers run through blocks as fast as they can',
	async (t) => {
		const scratch = new Scratch(t);
		const lateness = async (task: Task) => {
			const late = monitorEventLoopDelay({ resolution: 10 });
			// what the start of the run takes is asked too
			late.enable();
			t.true(await runBlockwise(task, scratch.quiet));
			late.disable();
			return late.percentile(99.9) / 1e6 - 10;
		};
		// A driver that is in the way of timers is so each time, other programs here are not.
		const measured: number[] = [];
		do {
			const task = line(scratch, 100_000, {}, { processFunction: fixture('noop.js') });
			measured.push(await lateness(task));
		} while (measured.at(-1)! >= 50 && measured.length < 5);
		t.log(`p99.9 ${measured.map((ms) => ms.toFixed(1)).join(', ')} ms late`);
		t.true(measured.at(-1)! < 50);
	},
);
