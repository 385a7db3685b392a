import { readFileSync } from 'node:fs';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const LOST = 'The last message or output line is lost because the process exits first';
const EMPTY = 'The error arrives empty';

const THROWN: Record<string, { name: string; message: RegExp }> = {
	cause: { name: 'Error', message: /^outer$/ },
	aggregate: { name: 'AggregateError', message: /^several$/ },
	fields: { name: 'FieldError', message: /^with fields$/ },
	string: { name: 'ThrownValue', message: /^just text$/ },
	undefined: { name: 'ThrownValue', message: /^undefined$/ },
	null: { name: 'ThrownValue', message: /^null$/ },
	toString: { name: 'ThrownValue', message: /toString/ },
	circular: { name: 'ThrownValue', message: /Circular/ },
	getters: { name: 'Error', message: /^hidden$/ },
};

test(`${EMPTY}: whatever is thrown arrives with name, message, block and worker, and a stack where there is one`, async (t) => {
	const scratch = new Scratch(t);
	const kinds = Object.keys(THROWN);
	const deeds = Object.fromEntries(
		kinds.map((what, at) => [at, { do: 'throwWhat', what }]),
	) as Record<string, unknown>;
	deeds[kinds.length] = { do: 'reject' };
	const task = line(scratch, kinds.length + 1, deeds, {
		maxRetries: 0,
		onBlockError: 'keep-worker',
	});
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.failed, kinds.length + 1);
	t.is(state!.failures.length, kinds.length + 1);
	for (const failure of state!.failures) {
		const at = failure.block!.index[0]!;
		const expected = THROWN[kinds[at] ?? 'undefined']!;
		t.is(failure.name, expected.name);
		t.regex(failure.message, expected.message);
		t.is(failure.workerId, 0);
		t.is(failure.attempt, 1);
		if (failure.name === 'ThrownValue') t.is(failure.stack, null);
		else t.regex(failure.stack!, /deeds\.js/);
	}
	t.is(state!.failures.find(({ message }) => message === 'outer')!.cause!.message, 'inner');
});

test(`${LOST}: a huge error followed by process.exit arrives, cut with a note`, async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 1, { 0: { do: 'hugeThenExit' } }, { maxRetries: 0 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.is(state!.failed, 1);
	t.regex(state!.failures[0]!.message, /^m+… \(\d+ more characters\)$/);
});

test(`${LOST}: a worker that prints 5 MB and ends leaves all of it in its log`, async (t) => {
	const scratch = new Scratch(t);
	t.true(
		await runBlockwise(line(scratch, 5, { all: { do: 'print', bytes: 1 << 20 } }), scratch.quiet),
	);
	const log = readFileSync(scratch.path('logs/line/worker_0.out'), 'utf8');
	t.is(log.length - log.indexOf('\n') - 1, 5 << 20);
});

test('a status set to failed is a failure that costs no worker', async (t) => {
	const scratch = new Scratch(t);
	const task = line(scratch, 3, { 1: { do: 'failed' } }, { maxRetries: 1 });
	const { line: state } = await new Server().runBlockwise(task, scratch.quiet);
	t.deepEqual([state!.completed, state!.failed, state!.failedAttempts], [2, 1, 2]);
	t.deepEqual([state!.workerStarts, state!.workerFailures], [1, 0]);
	t.is(state!.failures[0]!.name, 'BlockFailed');
});

test('the run is false and lists the first failures when blocks failed for good', async (t) => {
	const scratch = new Scratch(t);
	const deeds = { 1: { do: 'throw' }, 2: { do: 'throw' } };
	const task = () => line(scratch, 4, deeds, { maxRetries: 1 });
	t.false(await runBlockwise(task(), scratch.quiet));
	const { line: state } = await runBlockwise(task(), { ...scratch.quiet, returnStates: true });
	t.deepEqual([state!.failed, state!.failedAttempts], [2, 4]);
	t.deepEqual(state!.failures.map(({ block }) => block!.id).sort(), ['line/1', 'line/2']);
});

test('a run ends early at the first failure, or after as many as allowed', async (t) => {
	for (const [limit, allowed] of [
		[{ failFast: true }, 1],
		[{ maxFailures: 3 }, 3],
	] as const) {
		const scratch = new Scratch(t);
		// the others wait at a gate that nobody opens: only the limit can end the run
		const others = { do: 'gate', file: scratch.path('gate') };
		const bad = Object.fromEntries([0, 1, 2].slice(0, allowed).map((at) => [at, { do: 'throw' }]));
		const task = line(
			scratch,
			20,
			{ ...bad, all: others },
			{
				maxRetries: 0,
				onBlockError: 'keep-worker',
			},
		);
		const states = await runBlockwise(task, {
			...scratch.quiet,
			...limit,
			shutdownGraceMs: 0,
			returnStates: true,
		});
		t.is(states.line!.failed, allowed);
		t.is(states.line!.completed, 0);
		t.false(states.line!.done);
	}
});
