import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BarsObserver } from '../../src/progress/bars.ts';
import { deliver, RunEvents } from '../../src/progress/events.ts';
import { JsonProgressObserver } from '../../src/progress/json-observer.ts';
import { LinesObserver } from '../../src/progress/lines.ts';
import { counts } from './counts.ts';

const states = {
	one: counts({ completed: 3, workerRestarts: 1, workerFailures: 2 }),
	two: counts(),
};

test('JSON lines have daisy’s field names, one line a task and event', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'bellis-json-'));
	t.teardown(() => rm(folder, { recursive: true }));
	const path = join(folder, 'progress.jsonl');
	const observer = new JsonProgressObserver({ path, now: () => 17.5 });
	observer.onStart(states);
	observer.onProgress(states);
	const seen = readFileSync(path, 'utf8').trim().split('\n');
	t.is(seen.length, 4, 'flushed at each event');
	observer.onFinish(states);
	const lines = readFileSync(path, 'utf8')
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	t.is(lines.length, 6);
	t.deepEqual(lines[0], {
		t: 17.5,
		event: 'start',
		task: 'one',
		total: 8,
		ready: 0,
		processing: 0,
		completed: 3,
		skipped: 0,
		failed: 0,
		orphaned: 0,
		restarts: 1,
		failures: 2,
	});
	t.deepEqual(
		lines.map(({ event }) => event),
		['start', 'start', 'progress', 'progress', 'finish', 'finish'],
	);
});

test('a path and a stream together are refused', (t) => {
	t.throws(() => new JsonProgressObserver({ path: 'x', stream: process.stdout }), {
		code: 'ERR_BELLIS_VALIDATION',
	});
});

test('a path that cannot be written is refused at once, by name', (t) => {
	const path = join(tmpdir(), 'no such folder', 'progress.jsonl');
	const error = t.throws(() => new JsonProgressObserver({ path }), {
		code: 'ERR_BELLIS_VALIDATION',
	});
	t.true(error?.message.includes(path));
});

test('a run without tasks writes no JSON, and no blank line either', (t) => {
	const written: string[] = [];
	const observer = new JsonProgressObserver({ stream: { write: (text) => written.push(text) } });
	observer.onStart({});
	observer.onFinish({});
	t.is(written.join(''), '');
});

test('what observers are made of is checked at once, since a run swallows their errors', (t) => {
	const refused: [make: () => unknown, message: string][] = [
		[
			() => new JsonProgressObserver({ pth: 'x' } as object),
			'pth is no option of JsonProgressObserver: did you mean path?',
		],
		[
			() => new JsonProgressObserver({ stream: 5 as never }),
			'stream must be a stream, or anything with write, not 5',
		],
		[() => new JsonProgressObserver({ path: '' }), "path must be a path, not ''"],
		[
			() => new JsonProgressObserver('x' as never),
			"options must be an object with options, not 'x'",
		],
		[
			() => new LinesObserver(undefined as never),
			'stream must be a stream, or anything with write, not undefined',
		],
		[
			() => new BarsObserver({} as never),
			'terminal must be a stream, or anything with write, not {}',
		],
		[
			() => new BarsObserver(process.stderr, { color: false } as object),
			'color is no option of BarsObserver: did you mean colour?',
		],
	];
	for (const [make, message] of refused) {
		t.throws(make, { code: 'ERR_BELLIS_VALIDATION', message }, message);
	}
});

test('only an observer on stdout claims stdout', (t) => {
	t.true(new JsonProgressObserver().writesToStdout);
	t.false(new JsonProgressObserver({ path: '/dev/null' }).writesToStdout);
	t.false(new JsonProgressObserver({ stream: { write: () => true } }).writesToStdout);
});

test('events are read in order and end with finish; unread progress is replaced by newer', async (t) => {
	const events = new RunEvents();
	deliver(events, { type: 'start', time: 0, states });
	for (let time = 1; time <= 5; time++) deliver(events, { type: 'progress', time, states });
	deliver(events, {
		type: 'notice',
		code: 'test',
		time: 6,
		level: 'info',
		taskId: null,
		message: 'm',
	});
	const seen: string[] = [];
	for await (const event of events) {
		seen.push(`${event.type} ${event.time}`);
		if (event.type === 'notice')
			queueMicrotask(() => deliver(events, { type: 'finish', time: 7, states }));
	}
	t.deepEqual(seen, ['start 0', 'progress 5', 'notice 6', 'finish 7']);
});

test('an observer that throws never hurts, and its other methods are still called', (t) => {
	let finished = 0;
	const observer = {
		onEvent() {
			throw new Error('no');
		},
		onStart() {
			throw new Error('no');
		},
		onFinish() {
			finished++;
		},
	};
	deliver(observer, { type: 'start', time: 0, states });
	deliver(observer, { type: 'finish', time: 0, states });
	t.is(finished, 1);
});
