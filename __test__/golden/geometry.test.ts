import test from 'ava';
import { DependencyGraph } from '../../src/dependency-graph.js';
import { describeTask } from '../../src/native-scheduler.js';
import { readVectors, type VectorTask } from '../vectors-read.js';
import {
	ascending,
	goldenTask,
	isBeyondNumbers,
	isRefused,
	type VectorId,
	written,
} from './golden-tasks.js';

type BlockLine = [VectorId, number[], number[], number[], number[], VectorId[], number];

interface GeometryCase extends VectorTask {
	case: number;
	num_blocks: number | string;
	num_levels: number;
	num_roots: number | string;
	grid_shape: number[];
	store_grid_shape: number[];
	blocks?: BlockLine[];
}

for (const file of ['geometry.jsonl', 'reference-defects.jsonl']) {
	test(`every line of ${file} holds for the dependency graph`, (t) => {
		const lines = readVectors<GeometryCase>(file);
		let listed = 0;
		let refused = 0;
		for (const line of lines) {
			if (isBeyondNumbers(line)) {
				t.true(isRefused(line), `case ${line.case}`);
				refused++;
				continue;
			}
			const task = goldenTask('t', line);
			const graph = new DependencyGraph(task);
			const seen = {
				num_blocks: graph.blockCount('t'),
				num_levels: graph.levelCount('t'),
				num_roots: graph.rootCount('t'),
				grid_shape: task.blockGridShape,
				store_grid_shape: task.trackingGridShape,
			};
			t.deepEqual(
				seen,
				{
					num_blocks: BigInt(line.num_blocks),
					num_levels: line.num_levels,
					num_roots: BigInt(line.num_roots),
					grid_shape: line.grid_shape,
					store_grid_shape: line.store_grid_shape,
				},
				`case ${line.case}`,
			);
			if (line.blocks === undefined) continue;
			listed += line.blocks.length;
			const blocks = [...graph.blocks('t')].map((block) => [
				block.number,
				...written(block.readRoi),
				...written(block.writeRoi),
				graph.upstream(block).map(({ number }) => number),
				graph.level(block),
			]);
			const expected = line.blocks.map(([id, readAt, read, writeAt, write, upstream, level]) => [
				BigInt(id),
				readAt,
				read,
				writeAt,
				write,
				ascending(upstream),
				level,
			]);
			t.deepEqual(blocks, expected, `case ${line.case}`);
			assertInverse(t, graph);
		}
		t.log(`${lines.length} lines, ${listed} blocks, ${refused} refused`);
		t.true(lines.length > 10);
	});
}

/** Downstream must be the inverse of upstream. */
function assertInverse(
	t: { deepEqual: (a: unknown, b: unknown) => unknown },
	graph: DependencyGraph,
): void {
	const up: string[] = [];
	const down: string[] = [];
	for (const block of graph.blocks('t')) {
		for (const other of graph.upstream(block)) up.push(`${other.id} ${block.id}`);
		for (const other of graph.downstream(block)) down.push(`${block.id} ${other.id}`);
	}
	t.deepEqual(up.sort(), down.sort());
}

test('the addon describes a task as TypeScript does', (t) => {
	for (const line of readVectors<GeometryCase>('geometry.jsonl')) {
		if (isBeyondNumbers(line)) continue;
		const task = goldenTask('t', line);
		t.deepEqual(describeTask(task.nativeSpec), {
			blockGridShape: [...task.blockGridShape],
			trackingGridShape: [...task.trackingGridShape],
			totalWriteOffset: task.totalWriteRoi.offset.toArray(),
			totalWriteShape: task.totalWriteRoi.shape.toArray(),
			layoutHash: task.layoutHash,
			blockCount: BigInt(line.num_blocks),
		});
	}
});
