import test from 'ava';
import { displayFor } from '../../src/progress/display.ts';
import { deliver, type RunEvent } from '../../src/progress/events.ts';
import { JsonProgressObserver } from '../../src/progress/json-observer.ts';
import type { ProgressObserver } from '../../src/progress/observer.ts';
import { counts } from './counts.ts';

const notice: RunEvent = {
	type: 'notice',
	time: 0,
	level: 'warning',
	code: 'half-budget',
	taskId: 'a',
	message: 'restarts are used up',
};
const failure = (more: Partial<Extract<RunEvent, { type: 'failure' }>> = {}): RunEvent => ({
	type: 'failure',
	time: 0,
	taskId: 'a',
	blockId: 'a/3',
	attempt: 3,
	permanent: true,
	message: 'Error: boom',
	...more,
});

/** What a display writes to a stream that is no terminal. */
function written(progress: boolean | ProgressObserver, events: readonly RunEvent[]): string[] {
	const lines: string[] = [];
	const stream = { write: (text: string) => lines.push(text) } as unknown as NodeJS.WriteStream;
	const observer = displayFor(progress, { stream, env: {} });
	for (const event of events) deliver(observer, event);
	return lines;
}

const start: RunEvent = { type: 'start', time: 0, states: { a: counts() } };
const finish: RunEvent = {
	type: 'finish',
	time: 0,
	states: { a: counts({ completed: 8, done: true }) },
};

test('progress: false shows notices only', (t) => {
	t.deepEqual(written(false, [start, notice, finish]), [
		"bellis warning: task 'a': restarts are used up\n",
	]);
});

test('an observer that takes no events leaves notices to stderr', (t) => {
	const calls: string[] = [];
	class Counting implements ProgressObserver {
		readonly name = 'counting';
		onStart() {
			calls.push(`start ${this.name}`);
		}
		onFinish() {
			calls.push(`finish ${this.name}`);
		}
	}
	t.is(written(new Counting(), [start, notice, finish]).length, 1);
	t.deepEqual(calls, ['start counting', 'finish counting']);
});

test('an observer that takes events is told everything, and stderr nothing', (t) => {
	const seen: string[] = [];
	const observer = { onEvent: ({ type }: RunEvent) => seen.push(type) };
	t.deepEqual(written(observer, [start, notice, failure(), finish]), []);
	t.deepEqual(seen, ['start', 'notice', 'failure', 'finish']);
});

test('JSON lines on stdout are known as such, with their notices beside them', (t) => {
	const stream = { write: () => true } as unknown as NodeJS.WriteStream;
	const display = displayFor(new JsonProgressObserver(), { stream, env: {} });
	t.true((display as { writesToStdout?: boolean }).writesToStdout);
});

test('the first block of a task that has failed for good is told at once, later ones are counted', (t) => {
	const events = [
		failure({ permanent: false, attempt: 1 }),
		failure({ message: 'Error: boom\nmore' }),
		failure({ blockId: 'a/4' }),
		failure({ taskId: 'b', blockId: 'b/0', attempt: 1, message: 'x'.repeat(1000) }),
		failure({ taskId: 'c', blockId: null }),
	];
	const lines = written(false, events);
	t.is(
		lines[0],
		"bellis warning: task 'a': the first block has failed for good, a/3 in attempt 3: Error: boom\n",
	);
	t.is(lines.length, 2);
	t.true(lines[1]!.length < 400);
});
