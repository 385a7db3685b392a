import test from 'ava';
import { LinesObserver, type Repeat } from '../../src/progress/lines.ts';
import { counts } from './counts.ts';

function fixture() {
	const written: string[] = [];
	let time = 100;
	let tick: (() => void) | null = null;
	const stream = { write: (text: string) => written.push(text) };
	const repeat: Repeat = (_milliseconds, call) => {
		tick = call;
		return () => {
			tick = null;
		};
	};
	const observer = new LinesObserver(stream, () => time, repeat);
	const advance = (seconds: number) => {
		time += seconds;
		tick?.();
	};
	return { written, observer, advance };
}

test('10,000 blocks make under 200 lines, without escape codes', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts({ total: 10_000 }) });
	for (let completed = 1; completed <= 10_000; completed++) {
		advance(0.1);
		observer.onProgress({ a: counts({ total: 10_000, completed, done: completed === 10_000 }) });
	}
	observer.onFinish({ a: counts({ total: 10_000, completed: 10_000, done: true }) });
	t.true(written.length >= 20 && written.length < 200, String(written.length));
	// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is looked for
	t.false(written.some((text) => /\u001B/.test(text)));
	t.is(
		written.at(-1),
		'bellis a ✔ 10000/10000 blocks, 16:40 elapsed, 10.00 block/s, 0 processing\n',
	);
});

test('a run in which nothing ends still prints a line in 30 s', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts() });
	observer.onProgress({ a: counts({ processing: 2, pending: 6 }) });
	for (let i = 0; i < 120; i++) advance(0.5);
	t.is(written.length, 2);
	t.is(written[0], 'bellis a ▶ 0/8 blocks, 00:29 elapsed, ? left, ? block/s, 2 processing\n');
});

test('fast runs print the end of each task once', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts(), b: counts({ started: false }) });
	advance(0.2);
	const end = {
		a: counts({ completed: 6, skipped: 2, failed: 1, orphaned: 1, done: true, workerRestarts: 3 }),
		b: counts({ started: false }),
	};
	observer.onProgress(end);
	observer.onFinish(end);
	t.deepEqual(written, [
		'bellis a ✗ 8/8 blocks, 00:00 elapsed, 25.00 block/s, 0 processing, 2 skipped, 1 failed, 1 orphaned, 3 worker restarts\n',
	]);
});

test('notices are lines of their own', (t) => {
	const { written, observer } = fixture();
	observer.onEvent({
		type: 'notice',
		code: 'test',
		time: 0,
		level: 'warning',
		taskId: 'a',
		message: 'no block',
	});
	observer.onEvent({
		type: 'notice',
		code: 'test',
		time: 0,
		level: 'info',
		taskId: null,
		message: 'hello',
	});
	t.deepEqual(written, ["bellis warning: task 'a': no block\n", 'bellis hello\n']);
});

test('a task that an interrupted run leaves unfinished ends with …', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts() });
	advance(1);
	observer.onFinish({ a: counts({ completed: 3, ready: 5 }) });
	t.deepEqual(written, ['bellis a … 3/8 blocks, 00:01 elapsed, 3.00 block/s, 0 processing\n']);
});

test('blocks that take minutes have a rate and an end', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts({ started: false }) });
	observer.onProgress({ a: counts({ processing: 1 }) });
	for (let completed = 1; completed <= 2; completed++) {
		for (let i = 0; i < 600; i++) advance(0.5);
		observer.onProgress({ a: counts({ completed, processing: 1 }) });
	}
	for (let i = 0; i < 200; i++) advance(0.5);
	t.is(
		written.at(-1),
		'bellis a ▶ 2/8 blocks, 11:27 elapsed, 30:00 left, 5.0 min/block, 1 processing\n',
	);
});

test('a task whose blocks were all skipped never had a rate; one of each is one', (t) => {
	const { written, observer, advance } = fixture();
	observer.onStart({ a: counts({ total: 1, started: false }) });
	advance(1);
	observer.onFinish({
		a: counts({ total: 1, completed: 1, skipped: 1, done: true, workerRestarts: 1 }),
	});
	t.deepEqual(written, [
		'bellis a ✔ 1/1 block, 00:01 elapsed, 0 processing, 1 skipped, 1 worker restart\n',
	]);
});
