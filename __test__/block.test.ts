import test from 'ava';
import fc from 'fast-check';
import { Block } from '../src/block.js';
import { BlockGeometry } from '../src/block-geometry.js';
import { blockNumber } from '../src/block-number.js';
import { Roi } from '../src/geometry/roi.js';
import { readVectors, type VectorRegion, type VectorTask } from './vectors-read.js';

type VectorBlock = [number | string, number[], number[], number[], number[], unknown[], number];

interface GeometryCase extends VectorTask {
	case: number;
	num_blocks: number | string;
	grid_shape: number[];
	store_grid_shape: number[];
	blocks?: VectorBlock[];
}

const roi = ([offset, shape]: VectorRegion) => new Roi(offset.map(BigInt), shape.map(BigInt));

function geometryOf(task: VectorTask, taskId = 'task'): BlockGeometry {
	return new BlockGeometry({
		taskId,
		totalRoi: roi(task.total),
		readRoi: roi(task.read),
		writeRoi: roi(task.write),
		fit: task.fit,
	});
}

function allBlocks(geometry: BlockGeometry): Block[] {
	return Array.from({ length: Number(geometry.blockCount) }, (_, i) => Block.at(geometry, i));
}

/** Title of the difficulty that these tests are about. */
const FACTS = 'Small facts that a compatible port must decide on';

test(`${FACTS}: ids, Rois and grids are those of the golden geometry cases`, (t) => {
	const cases = readVectors<GeometryCase>('geometry.jsonl').filter((line) =>
		[line.total, line.read, line.write].flat(2).every((v) => Number.isSafeInteger(Number(v))),
	);
	t.true(cases.length > 300, `${cases.length} cases`);
	for (const line of cases) {
		const geometry = geometryOf(line);
		t.is(geometry.blockCount, BigInt(line.num_blocks), `case ${line.case}`);
		t.deepEqual([...geometry.blockGridShape], line.grid_shape, `case ${line.case}`);
		t.deepEqual([...geometry.trackingGridShape], line.store_grid_shape, `case ${line.case}`);
		if (line.blocks === undefined) continue;
		const expected = line.blocks.map(([id, ...rois]) => [String(id), ...rois.slice(0, 4)]);
		const actual = allBlocks(geometry).map((block) => [
			block.number.toString(),
			block.readRoi.offset.toArray(),
			block.readRoi.shape.toArray(),
			block.writeRoi.offset.toArray(),
			block.writeRoi.shape.toArray(),
		]);
		const byId = (a: unknown[], b: unknown[]) =>
			BigInt(a[0] as string) < BigInt(b[0] as string) ? -1 : 1;
		t.deepEqual(actual.sort(byId), expected.sort(byId), `case ${line.case}`);
	}
});

test('a block is named by its task and number, and survives JSON', (t) => {
	const geometry = geometryOf(
		{
			total: [
				[0, 0],
				[512, 512],
			],
			read: [
				[0, 0],
				[128, 128],
			],
			write: [
				[0, 0],
				[128, 128],
			],
			fit: 'valid',
			conflict: false,
		},
		'mws',
	);
	const block = Block.at(geometry, 6);
	t.deepEqual([...block.index], [1, 2]);
	t.is(block.id, 'mws/7');
	t.is(block.number, 7n);
	t.is(block.taskId, 'mws');
	t.is(block.status, 'created');
	t.is(block.stats, null);
	t.deepEqual(JSON.parse(JSON.stringify(block)), {
		id: 'mws/7',
		taskId: 'mws',
		number: '7',
		index: [1, 2],
		readRoi: { offset: [128, 256], shape: [128, 128] },
		writeRoi: { offset: [128, 256], shape: [128, 128] },
		status: 'created',
	});
	t.is(geometry.indexOf([1, 2]), 6);
});

test('numbers are exact on both sides of 2^53 and 2^64', (t) => {
	const exact: [number[], bigint][] = [
		[[3], 3n],
		[[1, 2], 7n],
		[[2, 1], 8n],
		[[4, 4], 40n],
		[[3, 5], 39n],
		[[0, 0, 1], 1n],
		[[0, 1, 0], 2n],
		[[1, 0, 0], 3n],
		[[1, 1, 1], 14n],
		[[1, 2, 3], 63n],
		[[2, 3, 5], 237n],
		[[10, 20, 30], 38295n],
		[[99, 99, 99], 4430349n],
		[[200000, 200000, 200000], 36000260000600000n],
		[[300000, 300000, 300001], 121500990002250001n],
	];
	for (const [cell, number] of exact) t.is(BigInt(blockNumber(cell)), number, `${cell}`);
	const neighbours = [0, 1, 2].map((i) => String(blockNumber([200000, 200000, 200000 + i])));
	t.is(new Set(neighbours).size, 3);
});

test('numbers agree with the definition in big integers', (t) => {
	const factorial = (n: bigint): bigint => (n < 2n ? 1n : n * factorial(n - 1n));
	const naive = (cell: number[]): bigint => {
		if (cell.length === 1) return BigInt(cell[0]!);
		const n = BigInt(cell.length);
		const top = cell.reduce((sum, value) => sum + BigInt(value), 0n) + n - 1n;
		let falling = 1n;
		for (let i = 0n; i < n; i++) falling *= top - i;
		return falling / factorial(n) + naive(cell.slice(0, -1));
	};
	const cell = fc.array(fc.oneof(fc.nat(20), fc.nat(400_000), fc.nat(2 ** 31 - 1)), {
		minLength: 1,
		maxLength: 8,
	});
	fc.assert(fc.property(cell, (c) => t.is(BigInt(blockNumber(c)), naive(c))));
});

test('context of a block or more moves the cells of the store, not the places in the grid', (t) => {
	for (const [context, cells, first] of [
		[0, 4, 0],
		[9, 6, 0],
		[10, 6, 1],
		[25, 9, 2],
	] as const) {
		const geometry = geometryOf({
			total: [[-context], [40 + 2 * context]],
			read: [[-context], [10 + 2 * context]],
			write: [[0], [10]],
			fit: 'valid',
			conflict: false,
		});
		t.deepEqual([...geometry.trackingGridShape], [cells]);
		t.deepEqual([...geometry.blockGridShape], [4]);
		t.deepEqual(
			allBlocks(geometry).map((b) => geometry.cellOf(b.index)[0]),
			[0, 1, 2, 3].map((i) => i + first),
		);
		t.deepEqual(
			allBlocks(geometry).map((b) => b.index[0]),
			[0, 1, 2, 3],
		);
	}
});

test(`${FACTS}: the fits of the docs case`, (t) => {
	const of = (fit: VectorTask['fit']) =>
		allBlocks(
			geometryOf({ total: [[0], [27]], read: [[0], [14]], write: [[4], [6]], fit, conflict: true }),
		);
	t.is(of('valid').length, 3);
	t.is(`${of('overhang').at(-1)!.writeRoi}`, 'Roi((22), (6))');
	t.is(`${of('shrink').at(-1)!.writeRoi}`, 'Roi((22), (1))');
	t.is(`${of('shrink').at(-1)!.readRoi}`, 'Roi((18), (9))');
	t.is(of('shrink').at(-1)!.number, 3n, 'the number comes from the unshrunk block');
});

test('a place past 2^53 survives the way to an index and back', (t) => {
	const geometry = geometryOf({
		total: [
			[0, 0, 0],
			[2 ** 21, 2 ** 21, 2 ** 21],
		],
		read: [
			[0, 0, 0],
			[1, 1, 1],
		],
		write: [
			[0, 0, 0],
			[1, 1, 1],
		],
		fit: 'valid',
		conflict: false,
	});
	t.is(geometry.blockCount, 2n ** 63n);
	const index = geometry.indexOf([2 ** 21 - 1, 5, 7]);
	t.is(index, (2n ** 21n - 1n) * 2n ** 42n + 5n * 2n ** 21n + 7n);
	t.deepEqual([...Block.at(geometry, index).index], [2 ** 21 - 1, 5, 7]);
	t.is(geometry.indexOf([0, 5, 7]), 5 * 2 ** 21 + 7);
});

test('negative and far offsets survive', (t) => {
	const geometry = geometryOf({
		total: [[-(2 ** 40)], [100]],
		read: [['-1000'], [10]],
		write: [['-1000'], [10]],
		fit: 'valid',
		conflict: false,
	});
	t.is(Block.at(geometry, 9).writeRoi.offset[0], -(2 ** 40) + 90);
});
