import test from 'ava';
import fc from 'fast-check';
import type { Block } from '../../src/block.js';
import { chain, Pipeline, type PipelinePart, parallel } from '../../src/pipeline.js';
import { profileBlock } from '../../src/profile-block.js';
import type { RunOrder } from '../../src/run/options.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Server } from '../../src/run/server.js';
import { Scheduler } from '../../src/scheduler.js';
import { fixture, line, Scratch } from './scratch.js';

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

test('a teardown that throws hides neither the error before it nor the teardown after it', async (t) => {
	const scratch = new Scratch(t);
	const make = (taskId: string, failBlock: boolean) =>
		line(
			scratch,
			1,
			{},
			{
				taskId,
				processFunction: fixture('hooks.js'),
				config: { calls: scratch.calls, failBlock, failTeardown: true },
			},
		);
	const run = runBlockwise([make('a', false), make('b', true)], { ...scratch.quiet, ...serial });
	await t.throwsAsync(run, { message: 'bad block' });
	t.deepEqual(scratch.lines().slice(-2), ['teardown', 'teardown']);
	await t.throwsAsync(runBlockwise(make('c', false), { ...scratch.quiet, ...serial }), {
		message: 'no way back',
	});
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

test('blocks that say they failed end the run when they are as many as allowed', async (t) => {
	const scratch = new Scratch(t);
	for (const [limit, calls] of [
		[{}, 4],
		[{ maxFailures: 2 }, 2],
		[{ failFast: true }, 1],
		[{ maxFailures: 3, failFast: true }, 1],
	] as const) {
		let seen = 0;
		const processFunction = (block: Block) => {
			seen++;
			block.status = 'failed';
		};
		const task = line(scratch, 4, {}, { processFunction });
		const options = { ...scratch.quiet, ...serial, ...limit };
		const { line: state } = await new Server().runBlockwise(task, options);
		t.is(seen, calls);
		t.like(state!, { failed: calls, completed: 0, ready: 4 - calls });
	}
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

test('the task of the highest priority comes first, and a chain goes depth first when asked to', async (t) => {
	const scratch = new Scratch(t);
	const log: string[] = [];
	const task = (taskId: string, more = {}) =>
		line(scratch, 2, {}, { taskId, processFunction: (block) => void log.push(block.id), ...more });
	const orderOf = async (tasks: () => PipelinePart, order: RunOrder) => {
		log.length = 0;
		t.true(await runBlockwise(tasks(), { ...scratch.quiet, ...serial, order }));
		return log.join(' ');
	};
	const three = () => chain(task('a'), task('b'), task('c'));
	t.is(await orderOf(three, 'levels'), 'a/0 a/1 b/0 b/1 c/0 c/1');
	t.is(await orderOf(three, 'depth-first'), 'a/0 b/0 c/0 a/1 b/1 c/1');
	const listedBackwards = () => {
		const [a, b] = [task('a'), task('b')];
		return new Pipeline([b, a], [[a, b]]);
	};
	t.is(await orderOf(listedBackwards, 'levels'), 'a/0 a/1 b/0 b/1');
	t.is(await orderOf(listedBackwards, 'depth-first'), 'a/0 b/0 a/1 b/1');
	for (const order of ['levels', 'depth-first'] as const) {
		const two = () => parallel(task('low'), task('high', { priority: 1 }));
		t.is(await orderOf(two, order), 'high/0 high/1 low/0 low/1');
	}
});

test('a run, which skips at once, and a scheduler, which skips when asked, end with the same counters', async (t) => {
	const scratch = new Scratch(t);
	const skips = fc.constantFrom('mask', 'check', 'checkLater', 'both', 'neither');
	const stage = fc.record({
		skip: skips,
		marks: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
	});
	await fc.assert(
		fc.asyncProperty(fc.array(stage, { minLength: 1, maxLength: 3 }), async (stages) => {
			const pipeline = (later: boolean) =>
				chain(
					...stages.map(({ skip, marks }, at) => {
						const checkFunction = ({ index }: Block) =>
							later && skip === 'checkLater'
								? Promise.resolve(marks[index[0]!]!)
								: marks[index[0]!]!;
						const skipMask = skip === 'both' ? marks.map((mark, i) => mark && i % 2 === 0) : marks;
						return line(
							scratch,
							6,
							{},
							{
								taskId: `t${at}`,
								processFunction: () => {},
								...(skip.startsWith('check') || skip === 'both' ? { checkFunction } : {}),
								...(skip === 'mask' || skip === 'both' ? { skipMask } : {}),
							},
						);
					}),
				);
			const run = await new Server().runBlockwise(pipeline(true), { ...scratch.quiet, ...serial });
			const scheduler = new Scheduler(pipeline(false));
			for (const taskId of Object.keys(scheduler.states)) {
				for (let block = scheduler.acquire(taskId); block; block = scheduler.acquire(taskId)) {
					scheduler.release(block);
				}
				const { total, completed, skipped, ready, pending, failed, orphaned } =
					scheduler.states[taskId]!;
				t.like(run[taskId], { total, completed, skipped, ready, pending, failed, orphaned });
			}
		}),
		{ numRuns: 40 },
	);
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
