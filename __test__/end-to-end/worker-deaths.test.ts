import { readFileSync } from 'node:fs';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { fixture, line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const WITHOUT_END = "A bug in the user's code starts workers without end";
const KILLED = 'A worker killed from outside leaves the server waiting for ever';
const POISON = "Poison blocks, and innocent blocks blamed for a neighbour's crash";

test(`${KILLED}: a worker killed in the middle of a block is replaced and its block retried`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 4, { 1: { do: 'kill', once: true } });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 4);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 2, 2: 1, 3: 1 });
	t.is(state!.workerFailures, 1);
	t.is(state!.failedAttempts, 1);
	t.regex(state!.firstError!, /killed by SIGKILL/);
});

test(`${KILLED}: a block that kills its worker each time fails after its attempts, the others complete`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 4, { 1: { do: 'kill' } }, { maxRetries: 2 });
	const states = await new Server().runBlockwise(task, scratch.quiet);
	const state = states.line!;
	t.is(state.completed, 3);
	t.is(state.failed, 1);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 3, 2: 1, 3: 1 });
	t.is(state.failures.length, 1);
	t.is(state.failures[0]!.block!.id, 'line/1');
	t.regex(state.failures[0]!.message, /SIGKILL/);
});

test(`${POISON}: a poison block takes only its own attempts, with several workers and short blocks`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 100, { 37: { do: 'abort' } }, { maxWorkers: 4, maxRetries: 2 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 99);
	t.is(state!.failed, 1);
	const { 37: poison, ...others } = scratch.callsOf();
	t.is(poison, 3);
	t.is(Object.keys(others).length, 99);
	t.true(Object.values(others).every((calls) => calls === 1));
});

test('process.exit in a block function is a failure of that block, whatever the code', async (t) => {
	for (const code of [0, 3]) {
		const scratch = new Scratch(t);
		const task = line(scratch, 3, { 1: { do: 'exit', code } }, { maxRetries: 1 });
		const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
		t.is(state!.completed, 2);
		t.is(state!.failed, 1);
		t.is(scratch.callsOf()[1], 2);
		const [failure] = state!.failures;
		t.is(failure!.name, 'ProcessExit');
		t.regex(failure!.message, new RegExp(`exited with code ${code} `));
		t.regex(failure!.stack!, /deeds\.js/);
	}
});

test('an error that nobody catches fails the block that runs, with its stack', async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 2, { 1: { do: 'throwLater' } }, { maxRetries: 0 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.completed, 1);
	t.is(state!.failures[0]!.message, 'from a timer');
	t.regex(state!.failures[0]!.stack!, /deeds\.js/);
});

test(`${POISON}: process.exit between blocks loses no try`, async (t) => {
	const scratch = new Scratch(t);
	// the exit comes when block 0 is over, whether others ran meanwhile or not
	const task = line(scratch, 3, { 0: { do: 'exitLater', code: 5 } }, { maxRetries: 0 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [3, 0, 0]);
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1 });
});

test('the last lines that a dying worker wrote to stderr are in the error', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { 0: { do: 'stderr', text: 'the disk\nis full\n' } };
	const task = line(scratch, 1, deeds, { maxRetries: 0 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.regex(state!.firstError!, /aborted \(SIGABRT\)/);
	t.regex(state!.firstError!, /the disk\n\s*is full/);
});

test(`${WITHOUT_END}: a module that dies when imported`, async (t) => {
	const scratch = new Scratch(t);
	const starts = scratch.path('starts');
	const task = line(
		scratch,
		10,
		{},
		{
			processFunction: fixture('dies-at-import.js'),
			maxWorkers: 4,
			maxWorkerRestarts: 3,
			env: { BELLIS_TEST_STARTS: starts },
		},
	);
	const error = await t.throwsAsync(runBlockwise(task, scratch.quiet), {
		code: 'ERR_BELLIS_ABANDONED',
	});
	const started = readFileSync(starts, 'utf8').trimEnd().split('\n').length;
	t.true(started <= 7);
	if (!isBellisError(error, 'ERR_BELLIS_ABANDONED')) return t.fail();
	t.is(error.orphaned, 10);
	t.is(error.total, 10);
	t.regex(error.firstError!, /SIGABRT/);
	t.regex(error.firstError!, /about to die/);
	t.regex(error.message, /maxWorkerRestarts/);
	t.regex(error.message, /onBlockError: 'keep-worker'/);
	return undefined;
});

test(`${WITHOUT_END}: a program that does not exist`, async (t) => {
	const scratch = new Scratch(t);
	const launcher = new LocalLauncher({ wrap: ['no-such-binary'] });
	const task = line(scratch, 10, {}, { launcher, maxWorkers: 4, maxWorkerRestarts: 3 });
	const states = await new Server().runBlockwise(task, scratch.quiet);
	t.true(states.line!.abandoned);
	t.is(states.line!.orphaned, 10);
	t.true(states.line!.workerStarts <= 7);
	t.regex(states.line!.firstError!, /no-such-binary/);
});

test('a block that throws restarts its worker by default and keeps it where the task says so', async (t) => {
	for (const [onBlockError, pids] of [
		['restart-worker', 2],
		['keep-worker', 1],
	] as const) {
		const scratch = new Scratch(t);
		const deeds = { 0: { do: 'throw', once: true } };
		const task = line(scratch, 4, deeds, { onBlockError });
		t.true(await runBlockwise(task, scratch.quiet));
		t.is(scratch.pids().length, pids);
		t.deepEqual(scratch.callsOf(), { 0: 2, 1: 1, 2: 1, 3: 1 });
	}
});

test('more failing blocks than restarts abandon the task, unless workers are kept', async (t) => {
	const deeds = { all: { do: 'throw' } };
	const options = { maxRetries: 0, maxWorkerRestarts: 3 };
	const scratch = new Scratch(t);
	const server = new Server();
	const { line: state } = await server.runBlockwise(
		line(scratch, 8, deeds, options),
		scratch.quiet,
	);
	t.true(state!.abandoned);
	t.is(state!.abandonReason, 'worker restart cap exhausted');
	t.deepEqual([state!.failed, state!.orphaned], [4, 4]);
	t.deepEqual([state!.workerFailures, state!.workerRestarts, state!.workerStarts], [4, 3, 4]);

	const kept = line(new Scratch(t), 8, deeds, { ...options, onBlockError: 'keep-worker' });
	const { line: other } = await server.runBlockwise(kept, scratch.quiet);
	t.false(other!.abandoned);
	t.deepEqual([other!.failed, other!.orphaned, other!.workerStarts], [8, 0, 1]);
});
