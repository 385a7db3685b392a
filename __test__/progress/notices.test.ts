import { execFileSync } from 'node:child_process';
import test from 'ava';
import {
	noBlocksText,
	resumedText,
	shellWord,
	stoppingText,
	uncoveredRimText,
} from '../../src/progress/notices.ts';

test('a resumed task says how many blocks were skipped and how to start afresh', (t) => {
	const resumed = { skipped: 40, total: 64, hasMask: false, hasCheck: false };
	t.is(
		resumedText({ ...resumed, storePath: '/data/run/extract' }),
		'skipped 40 of 64 blocks (by the tracking store); to run all of them again: task.reset(), bellis reset /data/run/extract, or trackingPath: false',
	);
	t.is(
		resumedText({ ...resumed, storePath: '/my data/x', hasMask: true }),
		"skipped 40 of 64 blocks (by the tracking store, skipMask); to run all of them again: task.reset(), bellis reset '/my data/x', or trackingPath: false",
	);
	t.is(
		resumedText({ ...resumed, skipped: 1, total: 1, storePath: null, hasCheck: true }),
		'skipped 1 of 1 block (by checkFunction)',
	);
	t.is(
		resumedText({ ...resumed, storePath: null, hasCheck: true, soFar: true }),
		'skipped 40 of 64 blocks so far (by checkFunction)',
	);
});

test('a run that was asked to stop says what comes next', (t) => {
	const stopping = { signal: 'SIGINT', graceMs: 5_000, serial: false };
	t.is(
		stoppingText(stopping),
		'SIGINT: no more blocks are handed out, and those that are running have 5.0 s to finish; another signal ends them at once',
	);
	t.is(
		stoppingText({ ...stopping, signal: null, graceMs: 250 }),
		'aborted: no more blocks are handed out, and those that are running have 250.0 ms to finish',
	);
	t.is(
		stoppingText({ ...stopping, graceMs: 0 }),
		'SIGINT: no more blocks are handed out, and those that are running are ended',
	);
	t.is(
		stoppingText({ ...stopping, signal: 'SIGTERM', serial: true }),
		'SIGTERM: the run ends after the block that is running; one that awaits something has 5.0 s',
	);
});

test('a task without blocks says why', (t) => {
	t.is(
		noBlocksText({ totalShape: [3], readShape: [10], fit: 'valid' }),
		"has no block, so there is nothing to do: its total is (3), one block reads (10), and fit 'valid' keeps whole blocks only",
	);
	t.is(
		noBlocksText({ totalShape: [4, 0], readShape: [4, 4], fit: 'shrink' }),
		'has no block, so there is nothing to do: its total is (4, 0), nothing is left of it without the context',
	);
});

test("what fit 'valid' leaves out is named per axis", (t) => {
	// The second volume of behaviour case 14.
	const layout = {
		totalWriteOffset: [0, 0, 1],
		totalWriteShape: [4029, 7711, 219],
		writeShape: [64, 64, 64],
		blockGridShape: [62, 120, 3],
		fit: 'valid',
	} as const;
	t.is(
		uncoveredRimText(layout),
		"no block writes [3968, 4029) along axis 0, [7680, 7711) along axis 1, [193, 220) along axis 2, where a whole block doesn't fit; fit: 'shrink' or 'overhang' covers it",
	);
	t.is(uncoveredRimText({ ...layout, blockGridShape: [63, 121, 4], fit: 'shrink' }), null);
	t.is(uncoveredRimText({ ...layout, blockGridShape: [63, 121, 4], fit: 'overhang' }), null);
	t.is(uncoveredRimText({ ...layout, blockGridShape: [0, 0, 0] }), null);
});

test('words for a shell', (t) => {
	t.is(shellWord('/a/b-c_1.x'), '/a/b-c_1.x');
	t.is(shellWord("it's"), "'it'\\''s'");
	t.is(shellWord(''), "''");
	t.is(
		shellWord("it's\n\ta \x1B[2J\\ \x9B1m\u202E"),
		"$'it\\'s\\n\\ta \\u001b[2J\\\\ \\u009b1m\\u202e'",
	);
});

// the bash of macOS is too old for \u
const linux = process.platform === 'linux' ? test : test.skip;

linux('bash reads a word as it was', (t) => {
	for (const word of [
		"it's",
		'a b',
		'two\nlines\tof it',
		'\x1B[2J\\x',
		'\x9B1m \u202E\x7F',
		'日本 $HOME `x`',
	]) {
		const script = `printf %s ${shellWord(word)}`;
		const env = { ...process.env, LC_ALL: 'C.UTF-8' };
		t.is(execFileSync('bash', ['-c', script], { encoding: 'utf8', env }), word);
	}
});
