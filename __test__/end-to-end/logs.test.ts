import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { fixture, line, Scratch } from './scratch.js';

test('each worker has a pair of log files, which a later run appends to after a header', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { all: { do: 'print', bytes: 6 } };
	for (let run = 0; run < 2; run++) {
		t.true(await runBlockwise(line(scratch, 2, deeds), scratch.quiet));
	}
	t.deepEqual(
		readdirSync(scratch.path('logs/line'))
			.filter((name) => name.startsWith('worker'))
			.sort(),
		['worker_0.err', 'worker_0.out'],
	);
	const lines = readFileSync(scratch.path('logs/line/worker_0.out'), 'utf8').trimEnd().split('\n');
	t.is(lines.length, 6);
	t.regex(lines[0]!, /^=== bellis run .* worker 0 ===$/);
	t.deepEqual(lines.slice(1, 3), ['xxxxx', 'xxxxx']);
	t.regex(lines[3]!, /^=== bellis run/);
});

test('worker ids are never used twice in a run, also over tasks and restarts', async (t) => {
	const scratch = new Scratch(t);
	const a = line(scratch, 2, { 0: { do: 'throw', once: true } }, { taskId: 'a' });
	const b = line(scratch, 2, {}, { taskId: 'b' });
	t.true(await runBlockwise([a, b], scratch.quiet));
	const ids = ['a', 'b'].flatMap((task) =>
		readdirSync(scratch.path(`logs/${task}`)).filter((name) => name.endsWith('.out')),
	);
	t.is(ids.length, 3);
	t.is(new Set(ids).size, 3);
});

test('a block that prints 1 MB each time never waits for anybody', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { all: { do: 'print', bytes: 1 << 20 } };
	t.true(await runBlockwise(line(scratch, 20, deeds), { ...scratch.quiet, logMode: 'none' }));
	t.false(existsSync(scratch.path('logs')));
});

/** What a driver prints whose two workers print a line for each block. */
async function printed(t: Parameters<typeof line>[0], run: object): Promise<string> {
	const argument = JSON.stringify({
		calls: t.calls,
		blocks: 6,
		deeds: { all: { do: 'print', bytes: 6 } },
		task: { maxWorkers: 2 },
		run: { summary: false, ...run },
	});
	const child = spawn(process.execPath, [fileURLToPath(fixture('driver.js')), argument], {
		stdio: ['pipe', 'pipe', 'inherit'],
		env: { ...process.env, NODE_OPTIONS: '' },
	});
	let out = '';
	child.stdout.setEncoding('utf8').on('data', (text) => {
		out += text;
	});
	await once(child, 'close');
	return out;
}

for (const [logMode, files, console] of [
	['file', true, 0],
	['console', false, 6],
	['both', true, 6],
	['none', false, 0],
] as const) {
	test(`logMode ${logMode}: files ${files}, lines on the console with the worker's name ${console}`, async (t) => {
		const scratch = new Scratch(t);
		const out = await printed(scratch, { logMode, logDir: scratch.path('logs') });
		t.is(out.match(/^\[line \d+\] xxxxx$/gm)?.length ?? 0, console);
		t.is(existsSync(scratch.path('logs')), files);
	});
}

test('without a log directory the output goes to the console', async (t) => {
	const scratch = new Scratch(t);
	const out = await printed(scratch, { logDir: null });
	t.is(out.match(/^\[line \d+\] xxxxx$/gm)?.length, 6);
});
