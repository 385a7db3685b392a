import { existsSync, readdirSync } from 'node:fs';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { line, Scratch } from './scratch.js';

test("two runs at once in one process don't disturb each other, also with tasks of one name", async (t) => {
	const scratch = new Scratch(t);
	const other = new Scratch(t);
	const file = scratch.path('gate');
	const first = runBlockwise(line(scratch, 4, { 0: { do: 'gate', file } }), scratch.quiet);
	await scratch.made('gate.waits.0');
	// the second logs to the same folder while the first lives
	t.true(await runBlockwise(line(other, 4), scratch.quiet));
	scratch.open('gate');
	t.true(await first);
	t.is(scratch.lines().length, 4);
	t.is(other.lines().length, 4);
	const folders = readdirSync(scratch.path('logs')).sort();
	t.is(folders.length, 2);
	t.is(folders[0], 'line');
	t.regex(folders[1]!, /^line@[0-9a-f]{16}$/);
	t.true(existsSync(scratch.path(`logs/${folders[1]}/worker_0.out`)));
});

test('one task object in two live runs is refused, and allowed after', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const task = line(scratch, 1, { 0: { do: 'gate', file } });
	const run = runBlockwise(task, scratch.quiet);
	await scratch.made('gate.waits.0');
	await t.throwsAsync(runBlockwise(task, scratch.quiet), { code: 'ERR_BELLIS_PIPELINE' });
	scratch.open('gate');
	t.true(await run);
	t.true(await runBlockwise(task, scratch.quiet));
});

test('a server that is closed ends its runs', async (t) => {
	const scratch = new Scratch(t);
	const file = scratch.path('gate');
	const server = new Server();
	const run = server.runBlockwise(line(scratch, 1, { 0: { do: 'gate', file } }), {
		...scratch.quiet,
		shutdownGraceMs: 0,
	});
	const rejected = t.throwsAsync(run, { message: 'the server was closed' });
	await scratch.made('gate.waits.0');
	await server.close();
	await rejected;
	await t.throwsAsync(server.runBlockwise(line(scratch, 1)), { code: 'ERR_BELLIS_VALIDATION' });
});

test.serial('runs leave no handle, timer or listener behind', async (t) => {
	const scratch = new Scratch(t);
	const small = () => line(scratch, 1, {}, { skipMask: [1] });
	const serial = () => line(scratch, 2, {}, { processFunction: () => {} });
	const once = async () => {
		await runBlockwise(small(), scratch.quiet);
		await runBlockwise(serial(), { ...scratch.quiet, multiprocessing: false });
	};
	await runBlockwise(line(scratch, 1), scratch.quiet);
	await once();
	const open = () => readdirSync('/proc/self/fd').length;
	const threads = () => readdirSync('/proc/self/task').length;
	const before = {
		resources: process.getActiveResourcesInfo().sort(),
		listeners: process.eventNames().map((name) => process.listenerCount(name)),
		open: open(),
		threads: threads(),
	};
	for (let i = 0; i < 200; i++) await once();
	t.deepEqual(
		{
			resources: process.getActiveResourcesInfo().sort(),
			listeners: process.eventNames().map((name) => process.listenerCount(name)),
			open: open(),
			threads: threads(),
		},
		before,
	);
});
