import test from 'ava';
import fc from 'fast-check';
import type { Block } from '../src/block.js';
import { DependencyGraph } from '../src/dependency-graph.js';
import { Roi } from '../src/geometry/roi.js';
import { chain } from '../src/pipeline.js';
import { Scheduler } from '../src/scheduler.js';
import { Task } from '../src/task/task.js';
import { task } from './task/tasks.js';

const ids = (blocks: Iterable<Block>) => [...blocks].map(({ id }) => id);

test('counts are bigints, levels numbers', (t) => {
	const graph = new DependencyGraph(task('a', { readWriteConflict: true }));
	t.is(graph.blockCount('a'), 4n);
	t.is(graph.rootCount('a'), 4n);
	t.is(graph.levelCount('a'), 1);
	const none = task('none', { totalRoi: new Roi([0], [0]), readWriteConflict: true });
	t.is(new DependencyGraph(none).levelCount('none'), 0);
	t.is(
		new DependencyGraph(task('none', { ...none, readWriteConflict: false })).levelCount('none'),
		1,
	);
});

test('blocks can be listed again and again, and an unknown task is refused at once', (t) => {
	const graph = new DependencyGraph(task('a'));
	const blocks = graph.blocks('a');
	t.deepEqual(ids(blocks), ['a/0', 'a/1', 'a/2', 'a/3']);
	t.deepEqual(ids(blocks), ids(graph.blocks('a')));
	const none = new DependencyGraph([]);
	for (const call of ['blocks', 'blockCount', 'rootCount', 'levelCount'] as const) {
		t.like(
			t.throws(() => graph[call]('b'), { code: 'ERR_BELLIS_VALIDATION' }),
			{
				path: 'taskId',
				message: `no task has the id 'b'; there are "a"`,
			},
		);
		t.throws(() => none[call]('b'), { message: /there are no tasks$/ });
	}
	const [stranger] = new DependencyGraph(task('a')).blocks('a');
	for (const call of ['level', 'upstream', 'downstream'] as const) {
		t.like(
			t.throws(() => graph[call](stranger!)),
			{ path: 'block' },
		);
		t.like(
			t.throws(() => graph[call](null as unknown as Block)),
			{ path: 'block' },
		);
	}
});

test('tasks of any size are counted exactly', (t) => {
	const side = 10_000_000;
	const cube = new Task({
		taskId: 'cube',
		totalRoi: new Roi([0, 0, 0], [side + 2, side + 2, side + 2]),
		readRoi: new Roi([0, 0, 0], [3, 3, 3]),
		writeRoi: new Roi([1, 1, 1], [1, 1, 1]),
	});
	const graph = new DependencyGraph(cube);
	t.is(graph.blockCount('cube'), 10n ** 21n);
	t.is(graph.rootCount('cube'), 125n * 10n ** 18n);
	t.is(graph.levelCount('cube'), 8);
});

/** A 1-D task with context, whose total is anywhere. */
const line = (taskId: string) =>
	fc
		.record({
			offset: fc.integer({ min: -20, max: 20 }),
			size: fc.integer({ min: 0, max: 60 }),
			block: fc.integer({ min: 1, max: 9 }),
			below: fc.nat(12),
			above: fc.nat(12),
			fit: fc.constantFrom('valid', 'overhang', 'shrink'),
			readWriteConflict: fc.boolean(),
		})
		.map(
			({ offset, size, block, below, above, ...more }) =>
				new Task({
					taskId,
					totalRoi: new Roi([offset], [size]),
					readRoi: new Roi([-below], [below + block + above]),
					writeRoi: new Roi([0], [block]),
					allowUncovered: true,
					maxRetries: 0,
					...more,
				}),
		);

test('between tasks a block waits for exactly those that write what it reads, and each runs once after them', (t) => {
	fc.assert(
		fc.property(line('a'), line('b'), fc.infiniteStream(fc.boolean()), (a, b, choices) => {
			const pipeline = chain(a, b);
			const graph = new DependencyGraph(pipeline);
			const before = [...graph.blocks('a')];
			const after = [...graph.blocks('b')];
			for (const reader of after) {
				const found = graph.upstream(reader).filter(({ taskId }) => taskId === 'a');
				const expected = before.filter(({ writeRoi }) => writeRoi.intersects(reader.readRoi));
				t.deepEqual(ids(found).sort(), ids(expected).sort());
			}
			for (const block of [...before, ...after]) {
				for (const next of graph.downstream(block)) {
					t.true(ids(graph.upstream(next)).includes(block.id));
				}
			}
			const scheduler = new Scheduler(pipeline);
			const finished = new Set<string>();
			for (;;) {
				const order = choices.next().value ? ['a', 'b'] : ['b', 'a'];
				const block = scheduler.acquire(order[0]!) ?? scheduler.acquire(order[1]!);
				if (block === null) break;
				t.true(graph.upstream(block).every(({ id }) => finished.has(id)));
				t.false(finished.has(block.id));
				finished.add(block.id);
				scheduler.release(block);
			}
			t.is(finished.size, before.length + after.length);
			t.true(scheduler.states.a!.done && scheduler.states.b!.done);
		}),
	);
});
