import test from 'ava';
import { type RunEvent, RunEvents } from '../../src/progress/events.js';
import type { ProgressObserver } from '../../src/progress/observer.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from './scratch.js';

/** The same for every method of an observer. */
const everywhere = (method: () => unknown): ProgressObserver => ({
	onStart: method as () => void,
	onProgress: method as () => void,
	onFinish: method as () => void,
	onEvent: method as () => void,
});

const pause = new Int32Array(new SharedArrayBuffer(4));

for (const [name, method] of [
	[
		'throws',
		() => {
			throw new Error('observer');
		},
	],
	['rejects', async () => Promise.reject(new Error('observer'))],
	['never settles', () => new Promise(() => {})],
	['holds up the program', () => Atomics.wait(pause, 0, 0, 20)],
] as const) {
	for (const multiprocessing of [true, false]) {
		const how = multiprocessing ? 'on workers' : 'in serial mode';
		test.serial(`an observer that ${name} doesn't hurt a run ${how}`, async (t) => {
			const scratch = new Scratch(t);
			const unhandled: unknown[] = [];
			const note = (reason: unknown) => unhandled.push(reason);
			process.on('unhandledRejection', note);
			let calls = 0;
			const progress = everywhere(() => {
				calls++;
				return method();
			});
			const task = line(scratch, 20);
			t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing, progress }));
			await new Promise(setImmediate);
			process.off('unhandledRejection', note);
			t.is(scratch.lines().length, 20);
			t.true(calls >= 4);
			t.deepEqual(unhandled, []);
		});
	}
}

test('a reader of events that leaves in the middle holds up nothing', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const events = new RunEvents();
	const task = line(scratch, 3, { 1: { do: 'gate', file } });
	const run = runBlockwise(task, { ...scratch.quiet, progress: events });
	for await (const event of events) if (event.type === 'workerStarted') break;
	scratch.open('gate');
	t.true(await run);
	// another reader finds the rest
	const rest: string[] = [];
	for await (const { type } of events) rest.push(type);
	t.is(rest.at(-1), 'finish');
	t.true(rest.length < 20);
});

test('events that nobody reads any more are kept up to a bound, the latest of them', async (t) => {
	const events = new RunEvents();
	const failure = (attempt: number): RunEvent => ({
		...{ type: 'failure', time: attempt, taskId: 'a', blockId: 'a/1' },
		...{ attempt, permanent: false, message: 'm' },
	});
	events.onEvent(failure(1));
	for await (const event of events) if (event.type === 'failure') break;
	for (let attempt = 2; attempt <= 10_000; attempt++) {
		events.onEvent(failure(attempt));
		events.onEvent({ type: 'progress', time: attempt, states: {} });
	}
	events.onEvent({ type: 'finish', time: 10_001, states: {} });
	const times: number[] = [];
	for await (const event of events) times.push(event.time);
	t.true(times.length <= 1_000);
	t.is(times.at(-1), 10_001);
	t.true(times[0]! > 9_000);
});
