import test from 'ava';
import { deliver, endReading, type RunEvent, RunEvents } from '../../src/progress/events.ts';
import { LinesObserver } from '../../src/progress/lines.ts';
import { failureText } from '../../src/report/failures.ts';
import { runBlockwise } from '../../src/run/run-blockwise.ts';
import { counts } from './counts.ts';

const finish: RunEvent = { type: 'finish', time: 0, states: {} };

test.serial('an async observer that rejects is as harmless as one that throws', async (t) => {
	const unhandled: unknown[] = [];
	const note = (reason: unknown) => unhandled.push(reason);
	process.on('unhandledRejection', note);
	const reject = async () => {
		throw new Error('observer');
	};
	deliver({ onEvent: reject, onFinish: reject }, finish);
	await new Promise((resolve) => setImmediate(resolve));
	process.off('unhandledRejection', note);
	t.deepEqual(unhandled, []);
});

test('the events of a run that was refused end', async (t) => {
	const events = new RunEvents();
	await t.throwsAsync(runBlockwise('nonsense' as never, { progress: events }));
	for await (const event of events) t.fail(event.type);
	t.notThrows(() => endReading({}));
});

test('events can be read for one run after the other', async (t) => {
	const events = new RunEvents();
	const read = async () => {
		const types: string[] = [];
		for await (const { type } of events) types.push(type);
		return types;
	};
	events.onEvent(finish);
	t.deepEqual(await read(), ['finish']);
	events.onEvent({ type: 'start', time: 0, states: {} });
	const second = read();
	await Promise.resolve();
	events.onEvent(finish);
	t.deepEqual(await second, ['start', 'finish']);
});

test('a failure whose stack is only what the worker wrote begins with its reason', (t) => {
	const failure = {
		...{ block: null, workerId: 0, attempt: 1, name: 'BlockTimeout' },
		...{ message: 'the block ran too long', stack: 'last words' },
	};
	t.is(failureText(failure), 'BlockTimeout: the block ran too long\nlast words');
});

test('many tasks make few lines, and a run that has not begun is not silent', (t) => {
	const lines: string[] = [];
	let now = 0;
	const observer = new LinesObserver(
		{ write: (text) => lines.push(text) },
		() => now,
		() => () => {},
	);
	const at = (completed: number) =>
		Object.fromEntries(
			Array.from({ length: 60 }, (_, i) => [
				`t${i}`,
				counts({ total: 100, completed, started: completed > 0, done: completed === 100 }),
			]),
		);
	observer.onStart(at(0));
	now = 30;
	observer.onProgress(at(0));
	t.is(lines.length, 1);
	for (let completed = 1; completed <= 100; completed++) {
		now += 5;
		observer.onProgress(at(completed));
	}
	observer.onFinish(at(100));
	t.true(lines.length < 200, `${lines.length}`);
});
