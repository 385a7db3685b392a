import test from 'ava';
import { DependencyGraph } from '../../src/dependency-graph.js';
import { isBellisError } from '../../src/errors.js';
import { Pipeline } from '../../src/pipeline.js';
import { Scheduler } from '../../src/scheduler.js';
import { readVectors, type VectorTask } from '../vectors-read.js';
import { ascending, goldenTask, type VectorId, written } from './golden-tasks.js';

interface ChainedCase {
	case: number;
	note: string;
	upstream_task: VectorTask;
	downstream_task: VectorTask;
	upstream_blocks: [VectorId, number[], number[]][];
	downstream_blocks: [VectorId, number[], number[], number[], number[]][];
	waits_for: [VectorId, VectorId[]][];
	releases: [VectorId, VectorId[]][];
	start_at_once: VectorId[];
}

function pipelineFor(line: ChainedCase, allowUncovered: boolean): Pipeline {
	const upstream = goldenTask('A', line.upstream_task);
	const downstream = goldenTask('B', line.downstream_task, { allowUncovered });
	return new Pipeline([upstream, downstream], [[upstream, downstream]]);
}

/** Blocks of a task by number, with what `neighbours` says of each; in the form of the golden cases. */
function relation(
	graph: DependencyGraph,
	taskId: string,
	neighbours: 'upstream' | 'downstream',
): [bigint, bigint[]][] {
	const blocks = [...graph.blocks(taskId)];
	const pairs = blocks.map((block): [bigint, bigint[]] => [
		block.number,
		graph[neighbours](block).map(({ number }) => number),
	]);
	return pairs.sort(([a], [b]) => (a < b ? -1 : 1));
}

function golden(pairs: [VectorId, VectorId[]][]): [bigint, bigint[]][] {
	const numbers = pairs.map(([id, ids]): [bigint, bigint[]] => [BigInt(id), ascending(ids)]);
	return numbers.sort(([a], [b]) => (a < b ? -1 : 1));
}

test('every line of chained.jsonl holds in both directions', (t) => {
	const lines = readVectors<ChainedCase>('chained.jsonl');
	for (const line of lines) {
		const where = `case ${line.case}: ${line.note}`;
		const graph = new DependencyGraph(pipelineFor(line, false));
		const upstream = [...graph.blocks('A')].map((block) => [
			block.number,
			...written(block.writeRoi),
		]);
		t.deepEqual(
			upstream,
			line.upstream_blocks.map(([id, ...rest]) => [BigInt(id), ...rest]),
			where,
		);
		const downstream = [...graph.blocks('B')].map((block) => [
			block.number,
			...written(block.readRoi),
			...written(block.writeRoi),
		]);
		t.deepEqual(
			downstream,
			line.downstream_blocks.map(([id, ...rest]) => [BigInt(id), ...rest]),
			where,
		);
		t.deepEqual(relation(graph, 'B', 'upstream'), golden(line.waits_for), where);
		t.deepEqual(relation(graph, 'A', 'downstream'), golden(line.releases), where);
	}
	t.log(`${lines.length} lines`);
	t.true(lines.length > 50);
});

test('pairs of chained.jsonl with uncovered blocks are refused unless they are allowed', (t) => {
	const lines = readVectors<ChainedCase>('chained.jsonl');
	let refused = 0;
	for (const line of lines) {
		const where = `case ${line.case}: ${line.note}`;
		if (line.start_at_once.length > 0) {
			const error = t.throws(() => new Scheduler(pipelineFor(line, false)), undefined, where);
			if (!isBellisError(error, 'ERR_BELLIS_UNCOVERED')) {
				t.fail(where);
				continue;
			}
			t.is(error.taskId, 'B', where);
			t.is(error.upstreamId, 'A', where);
			t.is(error.region.offset.length, line.downstream_task.total[0].length, where);
			refused++;
		} else {
			t.notThrows(() => new Scheduler(pipelineFor(line, false)), where);
		}
	}
	t.log(`${refused} of ${lines.length} lines are refused`);
	t.true(refused > 0);
});

test('accepted pairs of chained.jsonl run to the end, each block once and in order', (t) => {
	const lines = readVectors<ChainedCase>('chained.jsonl');
	for (const line of lines) {
		const where = `case ${line.case}: ${line.note}`;
		const scheduler = new Scheduler(pipelineFor(line, true));
		t.is(scheduler.states.B!.ready, line.start_at_once.length, where);
		const waitsFor = new Map(golden(line.waits_for));
		const done = new Set<bigint>();
		const seen: bigint[] = [];
		const first: bigint[] = [];
		for (let busy = true; busy; ) {
			busy = false;
			for (let block = scheduler.acquire('B'); block !== null; block = scheduler.acquire('B')) {
				t.true(
					waitsFor.get(block.number)!.every((number) => done.has(number)),
					where,
				);
				if (done.size === 0) first.push(block.number);
				seen.push(block.number);
				scheduler.release(block);
				busy = true;
			}
			const upstream = scheduler.acquire('A');
			if (upstream === null) continue;
			scheduler.release(upstream);
			done.add(upstream.number);
			busy = true;
		}
		t.deepEqual(ascending(first), ascending(line.start_at_once), where);
		t.deepEqual(ascending(seen), ascending(line.downstream_blocks.map(([id]) => id)), where);
		t.true(scheduler.states.A!.done && scheduler.states.B!.done, where);
	}
});
