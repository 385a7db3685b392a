import test from 'ava';
import fc from 'fast-check';
import { isBellisError } from '../src/errors.js';
import {
	chain,
	displayOrder,
	type Edge,
	Pipeline,
	parallel,
	readPipeline,
} from '../src/pipeline.js';
import type { Task } from '../src/task/task.js';
import { task } from './task/tasks.js';

const ids = (tasks: readonly Task[]) => tasks.map((one) => one.taskId);
const pairs = (edges: readonly Edge[]) => edges.map(([up, down]) => `${up.taskId}>${down.taskId}`);

test('chain and parallel make the diamond', (t) => {
	const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => task(id)) as [Task, Task, Task, Task];
	for (const diamond of [
		chain(a, parallel(b, c), d),
		a.chain(b.parallel(c), d),
		chain(chain(a, parallel(b, c)), d),
		a.chain(parallel(b, c).chain(d)),
	]) {
		t.deepEqual(ids(diamond.tasks), ['a', 'b', 'c', 'd']);
		t.deepEqual(pairs(diamond.edges).sort(), ['a>b', 'a>c', 'b>d', 'c>d']);
		t.deepEqual(ids(diamond.sources), ['a']);
		t.deepEqual(ids(diamond.outputs), ['d']);
	}
});

test('operands are not changed, and the same object appears once', (t) => {
	const [a, b, c] = ['a', 'b', 'c'].map((id) => task(id)) as [Task, Task, Task];
	const ab = chain(a, b);
	const ac = chain(a, c);
	const both = parallel(ab, ac);
	t.deepEqual(ids(both.tasks), ['a', 'b', 'c']);
	t.deepEqual(pairs(both.edges), ['a>b', 'a>c']);
	t.deepEqual(ids(ab.tasks), ['a', 'b']);
	t.deepEqual(pairs(parallel(ab, ab).edges), ['a>b']);
	t.true(Object.isFrozen(ab) && Object.isFrozen(ab.tasks) && Object.isFrozen(ab.edges));
	t.deepEqual(ids(parallel(a, a).tasks), ['a']);
});

test('parts without tasks have no effect', (t) => {
	const [a, b] = [task('a'), task('b')];
	t.deepEqual(parallel().tasks, []);
	t.deepEqual(pairs(chain(parallel(), a, parallel(), b).edges), ['a>b']);
	t.deepEqual(readPipeline([]).tasks, []);
});

test('what is no task is refused by path', (t) => {
	const a = task('a');
	const cases: [() => unknown, string][] = [
		[() => chain(a, 3 as never), 'parts[1]'],
		[() => parallel('a' as never), 'parts[0]'],
		[() => chain([a] as never), 'parts[0]'],
		[() => a.chain({ ...a } as never), 'parts[1]'],
		[() => new Pipeline([a, null as never]), 'tasks[1]'],
		[() => new Pipeline(a as never), 'tasks'],
		[() => new Pipeline([a], [[a]] as never), 'edges[0]'],
		[() => new Pipeline([a], [[a, 3]] as never), 'edges[0][1]'],
		[() => readPipeline([a, undefined as never]), 'tasks[1]'],
	];
	for (const [run, path] of cases) {
		const error = t.throws(run, undefined, path);
		t.is((error as { path?: string }).path, path);
	}
});

test('a task listed twice and an edge to a stranger are refused', (t) => {
	const [a, b] = [task('a'), task('b')];
	t.throws(() => new Pipeline([a, a]), { code: 'ERR_BELLIS_PIPELINE' });
	t.throws(() => new Pipeline([a], [[a, b]]), { code: 'ERR_BELLIS_PIPELINE' });
});

test('two tasks of one id can be put together and not be run', (t) => {
	const pipeline = chain(task('a'), task('a'));
	t.is(pipeline.tasks.length, 2);
	const error = t.throws(() => readPipeline(pipeline));
	t.true(isBellisError(error, 'ERR_BELLIS_PIPELINE'));
	t.deepEqual((error as { taskIds?: unknown }).taskIds, ['a']);
});

test('a cycle is refused at the start of a run, with its tasks in order', (t) => {
	const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => task(id)) as [Task, Task, Task, Task];
	t.throws(() => readPipeline(chain(a, a)), { message: /a -> a/ });
	const cycle = new Pipeline(
		[d, a, b, c],
		[
			[d, a],
			[a, b],
			[b, c],
			[c, a],
		],
	);
	const error = t.throws(() => readPipeline(cycle), { code: 'ERR_BELLIS_PIPELINE' });
	t.regex(error!.message, /(a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)$/);
});

test('tasks are shown alphabetically, each after those it waits for', (t) => {
	const [a, b, c, d] = ['A', 'B', 'C', 'D'].map((id) => task(id)) as [Task, Task, Task, Task];
	t.deepEqual(ids(displayOrder(parallel(chain(c, d), chain(a, b)))), ['A', 'B', 'C', 'D']);
	t.deepEqual(ids(displayOrder(chain(d, a))), ['D', 'A']);
	t.deepEqual(ids(displayOrder(parallel(chain(d, a), c))), ['C', 'D', 'A']);
});

test('the order of any pipeline without cycles respects all its edges', (t) => {
	const graph = fc.integer({ min: 1, max: 8 }).chain((count) =>
		fc.record({
			order: fc.shuffledSubarray([...Array(count).keys()], { minLength: count }),
			edges: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1))),
		}),
	);
	fc.assert(
		fc.property(graph, ({ order, edges }) => {
			const tasks = order.map((i) => task(`t${i}`));
			const forward = edges.filter(([from, to]) => from < to);
			const pipeline = new Pipeline(
				tasks,
				forward.map(([from, to]) => [tasks[from]!, tasks[to]!]),
			);
			const shown = displayOrder(pipeline);
			t.deepEqual(ids(shown).sort(), ids(tasks).sort());
			for (const [up, down] of pipeline.edges) t.true(shown.indexOf(up) < shown.indexOf(down));
		}),
	);
});

test('an awaited pipeline or task is itself', async (t) => {
	const a = task('a');
	const pipeline = a.chain(task('b'));
	t.is(await pipeline, pipeline);
	t.is(await a, a);
	t.false('then' in pipeline || 'then' in a);
});
