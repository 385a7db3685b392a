import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { Server } from '../../src/run/server.js';
import { Driver } from './driver.js';
import { fixture, gone, line, Scratch } from './scratch.js';

/** The done bytes of a 1-D task's store. */
function doneOf(scratch: Scratch): Buffer {
	return readFileSync(scratch.path('stores/line/done/c/0'));
}

/** Numbers from 0 to 1, the same for the same seed. */
function dice(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
		return state / 0x7fff_ffff;
	};
}

/** Who dies in a round. */
const VICTIMS = ['driver and workers', 'driver', 'workers'] as const;

test('Killed mid-write: the torn output then breaks every retry: driver, workers or both are killed again and again, nothing is lost and nothing marked that is not there', async (t) => {
	const scratch = new Scratch(t);
	const dir = scratch.path('output');
	mkdirSync(dir);
	// BELLIS_KILL_ROUNDS=20 is the whole case
	const rounds = Number(process.env.BELLIS_KILL_ROUNDS ?? 6);
	const [blocks, workers] = [10 * rounds, 2];
	const seed = Number(process.env.BELLIS_TEST_SEED ?? Date.now() % 100_000);
	t.log(`BELLIS_TEST_SEED=${seed} BELLIS_KILL_ROUNDS=${rounds}`);
	const random = dice(seed);
	const deeds = { all: { do: 'output', dir, ms: 10 } };
	const options = { maxWorkers: workers, maxRetries: 100, maxWorkerRestarts: 1000 };
	for (let round = 0; round < rounds; round++) {
		const victims = VICTIMS[Math.floor(random() * VICTIMS.length)]!;
		const called = scratch.lines().length;
		const driver = new Driver(t, scratch, { blocks, deeds, task: options });
		const ended = driver.ended();
		while (scratch.lines().length === called && driver.child.exitCode === null) {
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
		await new Promise((resolve) => setTimeout(resolve, random() * 100));
		if (victims !== 'workers') driver.signal('SIGKILL');
		if (victims !== 'driver') killAll(scratch.pids());
		// a driver that lives replaces its workers; those of a dead one leave by themselves
		if (victims === 'workers') {
			await new Promise((resolve) => setTimeout(resolve, random() * 100));
			driver.signal('SIGKILL');
			killAll(scratch.pids());
		}
		await ended;
		await gone(scratch.pids());
		for (const [block, mark] of existsSync(scratch.path('stores/line/done/c/0'))
			? doneOf(scratch).entries()
			: []) {
			if (mark) t.is(readFileSync(`${dir}/${block}`, 'utf8'), `block ${block}`, victims);
		}
	}
	const marked = doneOf(scratch).filter((mark) => mark === 1).length;
	const { line: state } = await new Server().runBlockwise(line(scratch, blocks, deeds, options), {
		...scratch.quiet,
		trackingDir: scratch.path('stores'),
	});
	t.deepEqual([state!.completed, state!.skipped], [blocks, marked]);
	t.true(doneOf(scratch).every((mark) => mark === 1));
	t.is(readdirSync(dir).filter((name) => !name.includes('.')).length, blocks);
	// a round kills workers twice where the driver outlives the first time
	t.true(scratch.lines().length - blocks <= 2 * rounds * workers);
});

function killAll(pids: readonly number[]): void {
	for (const pid of pids) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			// has ended by itself
		}
	}
}

test('Checking millions of blocks is slow, silent and blocks the workers: the one block of a million that is left is all that runs', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	const cube = () =>
		line(
			scratch,
			0,
			{},
			{
				totalRoi: new Roi([0, 0, 0], [100, 100, 100]),
				readRoi: new Roi([0, 0, 0], [1, 1, 1]),
				writeRoi: new Roi([0, 0, 0], [1, 1, 1]),
				processFunction: fixture('noop.js'),
			},
		);
	const server = new Server();
	t.is((await server.runBlockwise(cube(), options)).line!.completed, 1_000_000);
	const file = scratch.path('stores/line/done/c/0/0/0');
	const done = readFileSync(file);
	t.is(done.length, 1_000_000);
	done[999_999] = 0;
	writeFileSync(file, done);
	const { line: state } = await server.runBlockwise(cube(), options);
	t.deepEqual([state!.completed, state!.skipped, state!.workerStarts], [1_000_000, 999_999, 1]);
	const again = await server.runBlockwise(cube(), options);
	t.deepEqual([again.line!.skipped, again.line!.workerStarts], [1_000_000, 0]);
});

test('One file or folder entry per block: files grow with workers and restarts, never with blocks or runs', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, trackingDir: scratch.path('stores') };
	const bad = [10, 50_000, 99_000];
	const task = () =>
		line(
			scratch,
			100_000,
			{},
			{
				processFunction: { module: fixture('noop.js'), export: 'throwsOnce' },
				config: { calls: scratch.calls, bad },
				maxWorkers: 4,
			},
		);
	const server = new Server();
	const { line: state } = await server.runBlockwise(task(), options);
	t.is(state!.completed, 100_000);
	t.is(state!.failedAttempts, 3);
	await server.runBlockwise(task(), options);
	const files = readdirSync(scratch.dir, { recursive: true, withFileTypes: true }).filter((entry) =>
		entry.isFile(),
	);
	const logs = files.filter(({ name }) => /^worker_\d+\.(out|err)$/.test(name));
	t.is(logs.length, 2 * state!.workerStarts);
	t.true(state!.workerStarts <= 4 + 3);
	t.true(files.length - logs.length - bad.length <= 40);
});
