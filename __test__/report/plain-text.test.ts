import test from 'ava';
import { barLine } from '../../src/progress/bar-line.ts';
import { LinesObserver } from '../../src/progress/lines.ts';
import { NoticeLines } from '../../src/progress/notice-line.ts';
import { plainJson, plainLine, plainName, plainText } from '../../src/report/plain-text.ts';
import { renderSummary } from '../../src/report/summary.ts';
import { counts } from '../progress/counts.ts';
import { buggy, failure, report, task } from './seed-reports.ts';

/** A colour, a cleared screen, a bell, a window title, an 8-bit escape, letters turned around. */
const hostile = 'a\x1B[31mb\x1B[2Jc\x07d\x1B]0;t\x9Ce\x9B1mf\u202Eg\x7F';
const shown = 'a\\x1b[31mb\\x1b[2Jc\\x07d\\x1b]0;t\\x9ce\\x9b1mf\\u202eg\\x7f';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const acting = /[\x00-\x08\x0B-\x1F\x7F-\x9F\u202A-\u202E\u2066-\u2069]/;

test('what would act on a terminal is shown', (t) => {
	t.is(plainText(hostile), shown);
	t.is(plainText('one\r\n\ttwo\n50%\r60%'), 'one\n\ttwo\n50%\\r60%');
	t.is(plainName('two\nlines\tof\rit'), 'two\\nlines\\tof\\rit');
	t.is(plainText('日本 🦀 שלום é'), '日本 🦀 שלום é');
});

test('a message in one line', (t) => {
	t.is(plainLine(' first \n\n  second\r\nthird\n'), 'first second third');
	t.is(plainLine('x'.repeat(20), 10), `${'x'.repeat(9)}…`);
});

test('JSON keeps its value', (t) => {
	const value = { path: hostile, lines: 'a\nb' };
	const json = plainJson(JSON.stringify(value, null, 2));
	t.notRegex(json, acting);
	t.deepEqual(JSON.parse(json), value);
});

test('neither names nor errors reach a summary as they are', (t) => {
	const text = renderSummary(
		report(
			[
				task({
					taskId: hostile,
					failed: 2,
					abandonReason: hostile,
					failures: [
						{ ...failure, name: hostile, message: hostile, stack: '' },
						{
							...failure,
							block: { ...failure.block!, id: hostile },
							stack: `${hostile}\n${hostile}`,
						},
					],
					logDir: `/logs/${hostile}\n/x`,
					workers: [{ ...buggy.tasks[0]!.workers[0]!, exitReason: `${hostile}\n${hostile}` }],
				}),
			],
			{ logDir: `/logs\n${hostile}` },
		),
		{ failuresShown: 2 },
	);
	t.notRegex(text, acting);
	t.true(text.includes(`    ${shown} ✗ `));
	t.true(text.includes(`      ${shown}: ${shown}\n`));
	t.true(text.includes(`      ${shown}\n      ${shown}\n`));
	t.true(text.includes(`worker 0: ${shown} ${shown}`));
	t.true(text.includes(`under /logs/${shown}\\n/x/`));
});

test('neither names nor messages reach bars, lines and notices as they are', (t) => {
	const taskId = hostile;
	const line = barLine({ taskId, counts: counts(), elapsed: 1, rate: 1 }, 200);
	t.true(line.startsWith(`${shown} ▶`), line);
	const lines: string[] = [];
	const observer = new LinesObserver({ write: (text) => lines.push(text) });
	observer.onStart({ [taskId]: counts() });
	observer.onFinish({ [taskId]: counts({ completed: 8, done: true }) });
	t.true(lines[0]?.startsWith(`bellis ${shown} ✔`), lines[0]);
	const notices = new NoticeLines();
	t.is(
		notices.lineOf({
			...{ type: 'notice', time: 0, level: 'warning', code: 'x' },
			...{ taskId, message: `${hostile}\n  at ${hostile}` },
		}),
		`bellis warning: task '${shown}': ${shown} at ${shown}`,
	);
	t.is(
		notices.lineOf({
			...{ type: 'failure', time: 0, taskId, blockId: `${hostile}/1` },
			...{ attempt: 2, permanent: true, message: `${hostile}\nmore` },
		}),
		`bellis warning: task '${shown}': the first block has failed for good, ${shown}/1 in attempt 2: ${shown}`,
	);
});
