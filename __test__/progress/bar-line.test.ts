import test from 'ava';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { barLine } from '../../src/progress/bar-line.ts';
import { clock, perSecond, Rate } from '../../src/progress/rate.ts';
import { counts } from './counts.ts';

const half = {
	taskId: 'bar',
	counts: counts({ completed: 4, processing: 4 }),
	elapsed: 0.5,
	rate: 7.97,
};

test('a wide terminal shows daisy’s line in full', (t) => {
	t.is(
		barLine(half, 200),
		'bar ▶ ♻=0:  50%|████████████████████                    | 4/8 [00:01<00:01, 7.97 block/s, ⧗=0, ▶=4, ✔=4, ✗=0, ∅=0]',
	);
});

test('80 columns keep the bar, the count and the rate', (t) => {
	t.is(
		barLine(half, 80),
		'bar ▶ ♻=0:  50%|███████████████               | 4/8 [00:01<00:01, 7.97 block/s]',
	);
});

test('40 columns keep the bar and the count', (t) => {
	t.is(barLine(half, 40), 'bar ▶ ♻=0:  50%|█████████         | 4/8');
});

test('no line is longer than the terminal is wide', (t) => {
	const long = {
		...half,
		taskId: 'a very long task id '.repeat(8),
		counts: counts({ total: 123_456_789 }),
	};
	for (let columns = 12; columns <= 220; columns++) {
		t.true(barLine(long, columns).length < columns);
		t.true(barLine(half, columns).length < columns);
	}
});

test('families of emoji count as their parts, and stay whole when a name is cut', (t) => {
	const family = '👩‍👩‍👧‍👦';
	const line = (taskId: string) => barLine({ ...half, taskId }, 40);
	t.is(stringWidth(line(family)), stringWidth(line('x'.repeat(8))) - 6);
	const cut = line(family.repeat(5));
	t.true(cut.startsWith(`${family}… `), cut);
});

test('no name makes a line as wide as the terminal', (t) => {
	const taskId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
	fc.assert(
		fc.property(taskId, fc.integer({ min: 11, max: 200 }), (name, columns) => {
			t.true(stringWidth(barLine({ ...half, taskId: name }, columns)) < columns);
		}),
	);
});

test('symbols tell how a task ended', (t) => {
	const symbol = (more: Parameters<typeof counts>[0]) =>
		barLine({ ...half, counts: counts({ done: true, ...more }) }, 80).slice(4, 5);
	t.is(symbol({ completed: 8 }), '✔');
	t.is(symbol({ completed: 7, failed: 1 }), '✗');
	t.is(symbol({ completed: 7, orphaned: 1 }), '∅');
	t.is(symbol({ completed: 7 }), '…');
	t.is(symbol({ done: false }), '▶');
	const unfinished = counts({ completed: 3, ready: 5 });
	t.is(barLine({ ...half, counts: unfinished, runIsOver: true }, 80).slice(4, 5), '…');
});

test('an empty task is all there is', (t) => {
	t.true(barLine({ ...half, counts: counts({ total: 0, done: true }) }, 80).includes('100%'));
});

test('the rate forgets what is older than half a minute, but keeps a slow task’s', (t) => {
	const rate = new Rate();
	t.is(rate.at(0), 0);
	for (let second = 0; second <= 100; second++) {
		rate.add(second, second < 60 ? second : 60 + (second - 60) * 10);
	}
	t.true(Math.abs(rate.at(100) - 10) < 0.5);
	const slow = new Rate();
	slow.begin(0);
	slow.add(300, 1);
	for (let second = 301; second < 500; second++) slow.add(second, 1);
	t.is(slow.at(300), 1 / 300);
	t.is(slow.at(500), 1 / 300);
});

test('the rate counts from the start of its task, and falls in a silence', (t) => {
	const rate = new Rate();
	rate.begin(0);
	rate.begin(100);
	t.is(rate.at(100), 0);
	rate.add(110, 2);
	t.is(rate.at(110), 0.2);
	t.is(rate.at(120), 0.2);
	t.is(rate.at(140), 2 / 30);
});

test('rates of blocks that take long are durations', (t) => {
	t.is(perSecond(12_400), '12400 block/s');
	t.is(perSecond(0.1), '0.10 block/s');
	t.is(perSecond(1 / 45), '45.0 s/block');
	t.is(perSecond(1 / 300), '5.0 min/block');
	t.is(perSecond(0), '? block/s');
});

test('clocks', (t) => {
	t.is(clock(0), '00:00');
	t.is(clock(61), '01:01');
	t.is(clock(3_661), '1:01:01');
	t.is(clock(Number.NaN), '?');
});
