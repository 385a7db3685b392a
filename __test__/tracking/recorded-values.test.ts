import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { Launcher } from '../../src/launchers/launcher.js';
import { profileBlock } from '../../src/profile-block.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import type { TaskOptions } from '../../src/task/task.js';
import { fixture, line, Scratch } from '../end-to-end/scratch.js';
import { LEAST, narrow, spend } from '../fixtures/costs.js';
import { ARRAYS, readArrays } from './arrays.js';

const NO_WORKER = 2 ** 32 - 1;

/** A launcher of programs that aren't started by bellis's own worker entry. */
function external(t: ExecutionContext): Launcher {
	return {
		start: async (spec) => {
			const child = spawn(process.execPath, [fileURLToPath(fixture('costs-program.js'))], {
				env: { ...process.env, NODE_OPTIONS: '', ...spec.context.toEnv() },
				stdio: 'inherit',
			});
			t.teardown(() => child.kill('SIGKILL'));
			return { stop: () => void child.kill(), describe: () => `program ${child.pid}` };
		},
	};
}

interface Way {
	readonly options: (t: ExecutionContext, dir: string) => Partial<TaskOptions>;
	readonly serial?: boolean;
}

const module = (name: string) => ({ module: fixture('costs.js'), export: name });

const ways: Record<string, Way> = {
	'block functions': { options: () => ({ processFunction: fixture('costs.js') }) },
	'worker functions': {
		options: () => ({ processFunction: undefined, workerFunction: module('loop') }),
	},
	'external workers': {
		options: (t) => ({ processFunction: fixture('costs.js'), launcher: external(t) }),
	},
	'serial mode': {
		options: (_, dir) => ({ processFunction: (block) => void spend(block, dir) }),
		serial: true,
	},
};

for (const [name, { options, serial = false }] of Object.entries(ways)) {
	test(`every array is written with what a block cost: ${name}`, async (t) => {
		const scratch = new Scratch(t);
		const dir = scratch.path('output');
		mkdirSync(dir);
		const before = Date.now() / 1000;
		const task = line(
			scratch,
			3,
			{},
			{
				resourceTracking: true,
				maxWorkers: 1,
				trackingPath: scratch.path('store'),
				skipMask: [0, 0, 1],
				config: { dir },
				...options(t, dir),
			},
		);
		t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing: !serial }));
		const after = Date.now() / 1000;
		const arrays = await readArrays(scratch.path('store'));
		for (const [array, dtype] of Object.entries(ARRAYS)) {
			t.is(arrays[array]!.dtype, dtype, array);
			t.deepEqual([...arrays[array]!.shape], [3], array);
			t.is(arrays[array]!.values[2], 0, `${array} of the masked block`);
		}
		for (const cell of [0, 1]) {
			const value = (array: keyof typeof ARRAYS) => arrays[array]!.values[cell]!;
			t.is(value('done'), 1);
			t.is(value('failures'), 0);
			t.true(value('cpu_seconds') >= LEAST.cpuSeconds, `cpu ${value('cpu_seconds')}`);
			t.true(value('wall_seconds') > 0 && value('wall_seconds') <= after - before);
			t.true(value('peak_rss_bytes') >= LEAST.peakRssBytes);
			for (const io of ['io_read_bytes', 'io_write_bytes'] as const) {
				t.true(value(io) >= LEAST.ioBytes && value(io) < 2 * LEAST.ioBytes, `${io} ${value(io)}`);
			}
			t.is(value('gpu_util_pct'), Number.NaN);
			t.is(value('gpu_mem_bytes'), 0);
			t.is(value('worker_id'), serial ? NO_WORKER : 0);
			t.true(before <= value('sent_at') && value('returned_at') <= after);
			// The block lies between the two. Both are rounded: to 24 bits, and to seconds since 1970 in 53 bits.
			const held = value('returned_at') - value('sent_at');
			const rounding = value('wall_seconds') * 2 ** -23 + 2 ** -21;
			t.true(held >= value('wall_seconds') - rounding, `${held} and ${value('wall_seconds')}`);
		}
		const { resources } = await task.report();
		t.is(resources!.cpuSeconds.count, 2);
		t.deepEqual(resources!.notes, []);
	});
}

for (const how of ['block functions', 'worker functions', 'serial mode']) {
	test(`only the innermost profileBlock is measured: ${how}`, async (t) => {
		const scratch = new Scratch(t);
		const dir = scratch.path('output');
		mkdirSync(dir);
		const functions: Record<string, Partial<TaskOptions>> = {
			'block functions': { processFunction: module('narrowed') },
			'worker functions': { processFunction: undefined, workerFunction: module('narrowedLoop') },
			'serial mode': { processFunction: (block) => narrow(block, dir, profileBlock) },
		};
		const trackingPath = scratch.path('store');
		const more = { resourceTracking: true, trackingPath, config: { dir }, ...functions[how] };
		const multiprocessing = how !== 'serial mode';
		t.true(await runBlockwise(line(scratch, 1, {}, more), { ...scratch.quiet, multiprocessing }));
		const { io_write_bytes } = await readArrays(trackingPath, ['io_write_bytes']);
		const [bytes] = io_write_bytes!.values;
		t.true(bytes! >= 1 << 20 && bytes! < 2 << 20, `${bytes}`);
	});
}

test('processor time of threads that ran for a block is its own', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const processFunction = module('threads');
	const task = line(scratch, 1, {}, { resourceTracking: true, trackingPath, processFunction });
	t.true(await runBlockwise(task, scratch.quiet));
	const { cpu_seconds } = await readArrays(trackingPath, ['cpu_seconds']);
	t.true(cpu_seconds!.values[0]! > 0.02, `${cpu_seconds!.values[0]}`);
});

test('blocks that run together have a time each, and the report says what cannot be told apart', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const deeds = { all: { do: 'sleep', ms: 10 } };
	const more = { resourceTracking: true, trackingPath, concurrency: 2, maxWorkers: 1 };
	const processFunction = { module: fixture('deeds.js'), export: 'actLater' };
	const task = line(scratch, 4, deeds, { ...more, processFunction });
	t.true(await runBlockwise(task, scratch.quiet));
	const arrays = await readArrays(trackingPath);
	for (const cell of [0, 1, 2, 3]) {
		t.true(arrays.wall_seconds!.values[cell]! >= 0.009);
		t.is(arrays.cpu_seconds!.values[cell], Number.NaN);
		t.is(arrays.peak_rss_bytes!.values[cell], 0);
	}
	const { resources } = await task.report();
	t.deepEqual(resources!.notes, ['cpu, memory and I/O: several blocks ran at once']);
});
