import test from 'ava';
import fc from 'fast-check';
import { Block } from '../../src/block.js';
import { DependencyGraph } from '../../src/dependency-graph.js';
import { ValidationError } from '../../src/errors.js';
import { FIT_RULES, FITS } from '../../src/fit.js';
import { describeTask } from '../../src/native-scheduler.js';
import { Task } from '../../src/task/task.js';

/** Tasks of 1 to 4 axes, good ones and bad ones. */
const options = fc.integer({ min: 1, max: 4 }).chain((dims) => {
	const axes = (min: number, max: number) =>
		fc.array(fc.integer({ min, max }), { minLength: dims, maxLength: dims });
	return fc
		.record({
			offset: axes(-20, 20),
			shape: axes(0, 24),
			lower: axes(-1, 5),
			upper: axes(-1, 5),
			write: axes(0, 6),
			place: axes(-9, 9),
			fit: fc.constantFrom(...FITS),
		})
		.map(({ offset, shape, lower, upper, write, place, fit }) => ({
			taskId: 'task',
			totalRoi: { offset, shape },
			readRoi: {
				offset: place,
				shape: write.map((size, axis) => size + lower[axis]! + upper[axis]!),
			},
			writeRoi: { offset: place.map((value, axis) => value + lower[axis]!), shape: write },
			fit,
		}));
});

test('the arithmetic here and the core agree on every task, good or bad', (t) => {
	const seen = { good: 0, bad: 0 };
	fc.assert(
		fc.property(options, (given) => {
			const description = () =>
				describeTask({
					taskId: 'task',
					totalOffset: given.totalRoi.offset,
					totalShape: given.totalRoi.shape,
					readOffset: given.readRoi.offset,
					readShape: given.readRoi.shape,
					writeOffset: given.writeRoi.offset,
					writeShape: given.writeRoi.shape,
					fit: given.fit,
					readWriteConflict: true,
					maxRetries: 0,
					allowUncovered: false,
				});
			let task: Task;
			try {
				task = new Task(given);
			} catch (error) {
				seen.bad++;
				if (!(error instanceof ValidationError)) throw error;
				const native = t.throws(description);
				const option = (path: string) => path.split(/[.[]/)[0];
				t.is(option((native as ValidationError).path), option(error.path), error.message);
				return;
			}
			seen.good++;
			t.deepEqual(description(), {
				blockGridShape: [...task.blockGridShape],
				trackingGridShape: [...task.trackingGridShape],
				totalWriteOffset: task.totalWriteRoi.offset.toArray(),
				totalWriteShape: task.totalWriteRoi.shape.toArray(),
				layoutHash: task.layoutHash,
				blockCount: task.geometry.blockCount,
			});
		}),
		{ numRuns: 2000 },
	);
	t.true(seen.good > 300 && seen.bad > 300, JSON.stringify(seen));
});

test('blocks of a graph are where this arithmetic puts them', (t) => {
	fc.assert(
		fc.property(options, (given) => {
			let task: Task;
			try {
				task = new Task(given);
			} catch {
				fc.pre(false);
				return;
			}
			fc.pre(task.geometry.blockCount <= 500n);
			const blocks = [...new DependencyGraph(task).blocks('task')];
			t.is(BigInt(blocks.length), task.geometry.blockCount);
			t.is(new Set(blocks.map((block) => block.id)).size, blocks.length, 'ids are distinct');
			for (const block of blocks) {
				t.true(task.totalWriteRoi.contains(block.writeRoi.begin));
				t.true(block.readRoi.contains(block.writeRoi));
				const { onlyWholeBlocks, cutsReads } = FIT_RULES[task.fit];
				if (onlyWholeBlocks || cutsReads) t.true(task.totalRoi.contains(block.readRoi));
				const cell = task.cellOf(block);
				t.true(cell.every((value, axis) => value >= 0 && value < task.trackingGridShape[axis]!));
				t.deepEqual(task.geometry.positionOf(cell), [...block.index]);
				t.deepEqual([...task.maskCellOf(block)], [...block.index]);
				t.is(Block.flatIndexOf(block), task.geometry.indexOf(block.index));
			}
		}),
		{ numRuns: 200 },
	);
});
