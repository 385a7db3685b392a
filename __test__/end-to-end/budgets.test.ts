import test from 'ava';
import { LocalLauncher } from '../../src/launchers/local.js';
import { chain } from '../../src/pipeline.js';
import type { RunEvent } from '../../src/progress/events.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import type { TaskOptions } from '../../src/task/task.js';
import { Driver } from './driver.js';
import { line, Scratch } from './scratch.js';

test('a check function that never answers does not hold up the end of an aborted run', async (t) => {
	for (const multiprocessing of [true, false]) {
		const scratch = new Scratch(t);
		const controller = new AbortController();
		const checkFunction = () => {
			setImmediate(() => controller.abort(new Error('enough')));
			return new Promise<boolean>(() => {});
		};
		const run = runBlockwise(line(scratch, 4, {}, { checkFunction }), {
			...scratch.quiet,
			signal: controller.signal,
			multiprocessing,
			shutdownGraceMs: 100,
		});
		await t.throwsAsync(run, { message: 'enough' }, `multiprocessing ${multiprocessing}`);
	}
});

test('serial mode: a second Ctrl-C ends a block that awaits what never comes', async (t) => {
	const scratch = new Scratch(t);
	const driver = new Driver(t, scratch, {
		blocks: 2,
		deeds: { all: { do: 'gate', file: scratch.path('gate') } },
		run: { multiprocessing: false },
	});
	await scratch.made('gate.waits.0');
	driver.signal('SIGINT');
	await driver.printed('signal seen');
	// two within a second are one
	await new Promise((resolve) => setTimeout(resolve, 1100));
	driver.signal('SIGINT');
	await driver.printed('rejected ERR_BELLIS_INTERRUPTED SIGINT 130');
	// nobody can end what a block of this process awaits
	scratch.open('gate');
	t.is(await driver.ended(), 130);
	t.regex(driver.out, /line …/);
});

test('tasks behind an abandoned one are abandoned with it', async (t) => {
	const scratch = new Scratch(t);
	const a = line(
		scratch,
		6,
		{ all: { do: 'throw' } },
		{ taskId: 'a', maxRetries: 0, maxWorkerRestarts: 1 },
	);
	const b = line(scratch, 6, {}, { taskId: 'b' });
	const c = line(scratch, 6, {}, { taskId: 'c' });
	const states = await new Server().runBlockwise(chain(a, b, c), scratch.quiet);
	t.deepEqual(
		Object.values(states).map(({ abandoned, abandonReason, failed, orphaned, workerStarts }) => [
			abandoned,
			abandonReason,
			failed,
			orphaned,
			workerStarts,
		]),
		[
			[true, 'worker restart cap exhausted', 2, 4, 2],
			[true, 'upstream task abandoned', 0, 6, 0],
			[true, 'upstream task abandoned', 0, 6, 0],
		],
	);
});

/** What a run says when half of the restarts are used up. */
async function halfBudget(
	scratch: Scratch,
	deeds: Record<string, unknown>,
	options: Partial<TaskOptions>,
): Promise<string[]> {
	const notices: string[] = [];
	const progress = {
		onEvent: (event: RunEvent) => {
			if (event.type === 'notice' && event.code === 'half-budget') notices.push(event.message);
		},
	};
	await new Server().runBlockwise(line(scratch, 8, deeds, options), { ...scratch.quiet, progress });
	return notices;
}

test('a run warns once at half of its restarts, with the last error', async (t) => {
	const deeds = Object.fromEntries(
		[0, 1, 2, 3, 4, 5].map((at) => [at, { do: 'throw', once: true }]),
	);
	const [notice, ...more] = await halfBudget(new Scratch(t), deeds, { maxWorkerRestarts: 8 });
	t.deepEqual(more, []);
	t.regex(
		notice!,
		/^4 of 8 worker restarts .* Raise maxWorkerRestarts, or pass onBlockError: 'keep-worker' .*\. The last error: TypeError: boom$/,
	);
	t.notRegex(notice!, /\n/);
});

test('a task that keeps its workers already is not told to', async (t) => {
	const deeds = { all: { do: 'exit', code: 3 } };
	const options = { maxWorkerRestarts: 4, onBlockError: 'keep-worker' } as const;
	const [notice] = await halfBudget(new Scratch(t), deeds, options);
	t.regex(notice!, /^2 of 4 worker restarts .* Find out what the workers die of, or raise/);
	t.notRegex(notice!, /onBlockError/);
});

test('a launcher whose worker returns at once without a connection is started no more often than allowed, and backs off', async (t) => {
	const scratch = new Scratch(t);
	const starts: number[] = [];
	const launcher = {
		start: async () => {
			starts.push(performance.now());
			return { exited: Promise.resolve({ code: 0 }), stop: () => {}, describe: () => 'nothing' };
		},
	};
	const { line: state } = await new Server().runBlockwise(
		line(scratch, 8, {}, { launcher, maxWorkers: 3, maxWorkerRestarts: 4 }),
		scratch.quiet,
	);
	t.true(state!.abandoned);
	t.is(starts.length, 7);
	t.is(state!.workerStarts, 7);
	// those beyond the first three come later and later
	const waits = starts.slice(3).map((at, i) => at - starts[i + 2]!);
	t.true(waits[0]! >= 100 && waits.at(-1)! > waits[0]!, waits.join());
});

test('a launcher that fails twice and then works completes the run', async (t) => {
	const scratch = new Scratch(t);
	const inner = new LocalLauncher();
	let calls = 0;
	const launcher: LocalLauncher = Object.assign(Object.create(inner), {
		start: (spec: never, signal: AbortSignal) => {
			calls++;
			if (calls <= 2) throw new Error('busy');
			return inner.start(spec, signal);
		},
	});
	const { line: state } = await new Server().runBlockwise(
		line(scratch, 8, {}, { launcher }),
		scratch.quiet,
	);
	t.is(state!.completed, 8);
	t.is(state!.workerStarts, 3);
});

test('a launcher that is still starting when the work is done by others', async (t) => {
	const scratch = new Scratch(t);
	const inner = new LocalLauncher();
	let calls = 0;
	const launcher = {
		start: (spec: Parameters<LocalLauncher['start']>[0], signal: AbortSignal) => {
			calls++;
			return calls === 1 ? inner.start(spec, signal) : new Promise<never>(() => {});
		},
	};
	const { line: state } = await new Server().runBlockwise(
		line(scratch, 30, { all: { do: 'sleep', ms: 20 } }, { launcher, maxWorkers: 3 }),
		scratch.quiet,
	);
	t.is(state!.completed, 30);
	t.true(calls <= 3);
});
