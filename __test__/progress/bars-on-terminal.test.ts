import test from 'ava';
import { missingTerminal, runOnTerminal } from './terminal.ts';

const missing = missingTerminal();
if (missing) console.log(`bars on a terminal are not tested: ${missing}`);
const onTerminal = missing ? test.skip : test;

const printed = (rest: readonly string[], long = `long ${'long '.repeat(10)}`.trim()) => [
	'one line',
	'another, on stderr',
	'two lines',
	'at once',
	long,
	...rest,
];

const widths: [columns: number, running: string[], finished: string[], long?: string][] = [
	[
		40,
		['fragments ▶ ♻=0:  25%|██      | 100/400', 'relabel ▶ ♻=0:   0%|             | 0/16'],
		['fragments ✔ ♻=0: 100%|████████| 400/400', 'relabel ✗ ♻=0: 100%|████████████| 16/16'],
		'long long long long long long long long ⏎long long long',
	],
	[
		80,
		[
			'fragments ▶ ♻=0:  25%|█████               | 100/400 [00:50<02:30, 2.00 block/s]',
			'relabel ▶ ♻=0:   0%|      | 0/16 [00:50<?, ? block/s, ⧗=16, ▶=0, ✔=0, ✗=0, ∅=0]',
		],
		[
			'fragments ✔ ♻=0: 100%|████████████████████| 400/400 [01:40<00:00, 4.00 block/s]',
			'relabel ✗ ♻=0: 100%|████████████████████████| 16/16 [01:40<00:00, 0.26 block/s]',
		],
	],
	[
		200,
		[
			'fragments ▶ ♻=0:  25%|██████████                              | 100/400 [00:50<02:30, 2.00 block/s, ⧗=296, ▶=4, ✔=100, ✗=0, ∅=0]',
			'relabel ▶ ♻=0:   0%|                                        | 0/16 [00:50<?, ? block/s, ⧗=16, ▶=0, ✔=0, ✗=0, ∅=0]',
		],
		[
			'fragments ✔ ♻=0: 100%|████████████████████████████████████████| 400/400 [01:40<00:00, 4.00 block/s, ⧗=0, ▶=0, ✔=400, ✗=0, ∅=0]',
			'relabel ✗ ♻=0: 100%|████████████████████████████████████████| 16/16 [01:40<00:00, 0.26 block/s, ⧗=0, ▶=0, ✔=12, ✗=1, ∅=3]',
		],
	],
];

for (const [columns, running, finished, long] of widths) {
	onTerminal(`${columns} columns: bars stay below whatever the program prints`, async (t) => {
		const run = await runOnTerminal('printing', { columns });
		t.is(run.code, 0);
		t.deepEqual(run.screens.started, running);
		t.deepEqual(run.screens.printed, printed(running, long));
		t.deepEqual(
			run.screens.end,
			printed(
				[
					"bellis warning: task 'relabel': a notice",
					...finished,
					'half a line is completed',
					'after the end',
				],
				long,
			),
		);
		t.true(run.restored, 'the cursor is shown and lines wrap again');
	});
}

onTerminal('bars follow the width of the terminal and leave what was printed alone', async (t) => {
	const { screens, restored } = await runOnTerminal('resizing', { columns: 80 });
	const lowest = (name: string) => screens[name]?.slice(-3);
	for (const [columns, running] of widths) {
		t.deepEqual(lowest(`${columns}`), [`at ${columns}`, ...running]);
	}
	t.deepEqual(lowest('60'), [
		'at 60',
		'fragments ▶ ♻=0:  25%|███▌          | 100/400 [00:50<02:30]',
		'relabel ▶ ♻=0:   0%|            | 0/16 [00:50<?, ? block/s]',
	]);
	t.deepEqual(
		screens.end?.filter((line) => /^(before|at \d+)$/.test(line)),
		['before', 'at 40', 'at 80', 'at 200', 'at 60'],
	);
	t.true(restored);
});

onTerminal('more tasks than rows: unfinished ones are shown, the rest is counted', async (t) => {
	const { screens } = await runOnTerminal('rows', { columns: 60, rows: 12 });
	const names = (name: string, lines: number) =>
		screens[name]?.slice(-lines).map((line) => line.split(' ').slice(0, 2).join(' '));
	const nine = Array.from({ length: 9 }, (_, i) => `task${i + 1}`);
	t.deepEqual(
		names('all', 9),
		nine.map((name) => `${name} ▶`),
	);
	t.deepEqual(names('few', 4), ['task1 ▶', 'task2 ▶', 'task3 ▶', '… and']);
	t.is(screens.few?.at(-1), '… and 6 more tasks');
	t.deepEqual(names('few later', 4), ['task8 ▶', 'task9 ▶', 'task1 ✔', '… and']);
	t.deepEqual(
		names('all again', 9),
		nine.map((name, i) => `${name} ${i < 7 ? '✔' : '▶'}`),
	);
	t.deepEqual(
		names('finished', 9),
		nine.map((name) => `${name} ✔`),
	);
	const few = await runOnTerminal('few', { columns: 60, rows: 6 });
	t.is(few.screens.running?.length, 4);
	t.is(few.screens.end?.length, 9, 'the last picture has all of them');
});

onTerminal('a process that exits gives the terminal back, with the last words', async (t) => {
	const { screens, code, restored } = await runOnTerminal('exit');
	t.is(code, 3);
	t.true(restored);
	t.is(screens.end?.at(-1), 'last words');
});

onTerminal('an error that nobody catches is printed below the bars', async (t) => {
	const { screens, code, restored } = await runOnTerminal('throwing', { rows: 30 });
	t.is(code, 1);
	t.true(restored);
	t.true(screens.end?.includes('Error: a bug of the user'));
	t.true(screens.end?.[0]?.startsWith('fragments ▶'));
});

onTerminal('10,000 lines are all there, and cost few redraws', async (t) => {
	const { output, told } = await runOnTerminal('flood');
	t.is(output.match(/^.*line \d+\r$/gm)?.length, 10_000);
	const redraws = Number(told[0]?.replace('redraws ', ''));
	t.true(redraws >= 2 && redraws < 200, `${redraws}`);
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is looked for
const colours = /\x1B\[[\d;]*m/;

onTerminal('colours, unless NO_COLOR says otherwise', async (t) => {
	const coloured = await runOnTerminal('display');
	t.regex(coloured.output, colours);
	t.true(coloured.output.includes('fragments \x1B[32m✔\x1B[39m'));
	const plain = await runOnTerminal('display', { env: { NO_COLOR: '1' } });
	t.notRegex(plain.output, colours);
	t.true(plain.output.includes('\x1B[?25l'), 'bars all the same');
	for (const { screens } of [plain, coloured]) {
		t.regex(screens.end?.at(-1) ?? '', /^relabel ✗ .* 16\/16 \[00:00<00:00, \S+ block\/s\]$/);
	}
});

onTerminal('a second run at the same time prints lines', async (t) => {
	const { screens } = await runOnTerminal('display');
	t.is(screens.end?.filter((line) => line.startsWith('bellis other ✔ 8/8 blocks')).length, 1);
	t.true(screens.end?.some((line) => line.startsWith('fragments ✔')));
});

for (const env of [{ CI: 'true' }, { TERM: 'dumb' }]) {
	onTerminal(`plain lines with ${Object.entries(env).join().replace(',', '=')}`, async (t) => {
		const { output } = await runOnTerminal('display', { env });
		// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
		t.notRegex(output, /\x1B/);
		t.regex(output, /^bellis relabel ✗ 16\/16 blocks/m);
	});
}
