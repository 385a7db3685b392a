import test from 'ava';
import { chain } from '../../src/pipeline.js';
import { profileBlock } from '../../src/profile-block.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { line, Scratch } from './scratch.js';

const serial = { multiprocessing: false } as const;

test('the first error is thrown unchanged, with its own stack, and nothing runs after it', async (t) => {
	const scratch = new Scratch(t);
	const boom = new Error('boom');
	const seen: number[] = [];
	const task = line(
		scratch,
		4,
		{},
		{
			processFunction: (block) => {
				seen.push(block.index[0]!);
				if (block.index[0] === 2) throw boom;
			},
		},
	);
	const error = await t.throwsAsync(runBlockwise(task, { ...scratch.quiet, ...serial }));
	t.is(error, boom);
	t.deepEqual(seen, [0, 1, 2]);
});

test('what finished before an error is done in the next run, and failures are not counted', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, ...serial, trackingDir: scratch.path('stores') };
	let broken = true;
	const seen: number[] = [];
	const make = () =>
		line(
			scratch,
			4,
			{},
			{
				processFunction: async (block) => {
					seen.push(block.index[0]!);
					if (broken && block.index[0] === 2) throw new Error('boom');
				},
			},
		);
	await t.throwsAsync(runBlockwise(make(), options), { message: 'boom' });
	broken = false;
	const { line: state } = await new Server().runBlockwise(make(), options);
	t.deepEqual(seen, [0, 1, 2, 2, 3]);
	t.deepEqual([state!.completed, state!.skipped], [4, 2]);
});

test('a chain runs to its end, also where a stage is skipped whole', async (t) => {
	const scratch = new Scratch(t);
	const options = { ...scratch.quiet, ...serial };
	const log: string[] = [];
	const task = (taskId: string, more = {}) =>
		line(scratch, 2, {}, { taskId, processFunction: (block) => void log.push(block.id), ...more });
	const middle = task('b', { skipMask: [1, 1] });
	const states = await new Server().runBlockwise(chain(task('a'), middle, task('c')), options);
	t.deepEqual(log.sort(), ['a/0', 'a/1', 'c/0', 'c/1']);
	t.is(states.b!.skipped, 2);
	t.true(Object.values(states).every((state) => state.done));
});

test('a module reference is imported, and the function gets the context with its config', async (t) => {
	const scratch = new Scratch(t);
	t.true(await runBlockwise(line(scratch, 3), { ...scratch.quiet, ...serial }));
	t.deepEqual(
		scratch.lines(),
		[0, 1, 2].map((at) => `${at} ${process.pid} null`),
	);
});

test('an abort ends the run after the block that runs, with the reason', async (t) => {
	const scratch = new Scratch(t);
	const controller = new AbortController();
	const seen: number[] = [];
	const task = line(
		scratch,
		4,
		{},
		{
			processFunction: async (block) => {
				seen.push(block.index[0]!);
				if (block.index[0] === 1) controller.abort(new Error('enough'));
			},
		},
	);
	const options = { ...scratch.quiet, ...serial, signal: controller.signal };
	await t.throwsAsync(runBlockwise(task, options), { message: 'enough' });
	t.deepEqual(seen, [0, 1]);
});

test('a run that is aborted before it starts does nothing', async (t) => {
	const scratch = new Scratch(t);
	const signal = AbortSignal.abort(new Error('too late'));
	await t.throwsAsync(runBlockwise(line(scratch, 2), { ...scratch.quiet, signal }), {
		message: 'too late',
	});
	t.is(scratch.lines().length, 0);
});

test('blocks are measured, narrowed by profileBlock', async (t) => {
	const scratch = new Scratch(t);
	const stats: (number | undefined)[] = [];
	const blocks: { stats: { wallSeconds: number } | null }[] = [];
	const task = line(
		scratch,
		1,
		{},
		{
			resourceTracking: true,
			processFunction: async (block) => {
				blocks.push(block);
				await new Promise((resolve) => setTimeout(resolve, 50));
				profileBlock(block, () => {});
			},
		},
	);
	t.true(
		await runBlockwise(task, { ...scratch.quiet, ...serial, trackingDir: scratch.path('stores') }),
	);
	stats.push(blocks[0]!.stats?.wallSeconds);
	t.true(stats[0]! >= 0 && stats[0]! < 0.02);
});
