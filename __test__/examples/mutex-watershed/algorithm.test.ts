import test from 'ava';
import fc from 'fast-check';
import { equalityAffinities } from '../../../examples/mutex-watershed/src/affinities.js';
import { NEIGHBORHOOD, type RowColumn } from '../../../examples/mutex-watershed/src/layout.js';
import { mutexWatershed } from '../../../examples/mutex-watershed/src/mutex-watershed.js';
import { readReference, readTileList, renumber } from './reference.js';

for (const { set, tiles } of [
	{ set: 'tutorial', tiles: 8 },
	{ set: 'noisy', tiles: 2 },
] as const) {
	test(`${set}: ${tiles} tiles come out as the reference's, up to relabelling`, async (t) => {
		const list = await readTileList(set);
		t.is(list.tiles.length, tiles);
		t.deepEqual(list.neighborhood, NEIGHBORHOOD as RowColumn[]);
		for (const tile of list.tiles) {
			const affinities = (await readReference(set, 'affinities', tile)) as Float32Array;
			const expected = await readReference(set, 'expected_tiles', tile);
			const labels = mutexWatershed({ data: affinities, shape: tile.shape }, NEIGHBORHOOD);
			const name = `tile ${tile.tile.join()}`;
			t.deepEqual(renumber(labels), renumber(expected), name);
			t.is(new Set(labels).size - Number(labels.includes(0)), tile.segments, name);
			t.is(labels.filter((label) => label === 0).length, tile.background_pixels, name);
		}
	});
}

test('affinities of the ground truth equal those of the reference, on the whole image', async (t) => {
	const { image } = await readTileList('tutorial');
	const data = (await readReference('tutorial', 'ground_truth')) as Uint32Array;
	const expected = (await readReference('tutorial', 'affinities')) as Float32Array;
	const affinities = equalityAffinities({ data, shape: image }, NEIGHBORHOOD);
	t.is(affinities.length, 4 * 512 * 512);
	t.deepEqual(Buffer.from(affinities.buffer), Buffer.from(expected.slice().buffer));
});

test('outside the image counts as background', (t) => {
	const affinities = equalityAffinities({ data: Uint32Array.of(0, 7), shape: [1, 2] }, [
		[0, 1],
		[-1, 0],
	]);
	t.deepEqual([...affinities], [-0.5, -0.5, 0.5, -0.5]);
});

test('a repulsive edge that is stronger than an attractive one keeps its ends apart', (t) => {
	const neighborhood: RowColumn[] = [
		[0, 1],
		[0, 3],
	];
	const segment = (repulsion: number) =>
		mutexWatershed(
			{ data: Float32Array.of(3, 1, 2, 0, repulsion, 0, 0, 0), shape: [1, 4] },
			neighborhood,
		);
	t.deepEqual([...segment(-4)], [1, 1, 2, 2]);
	t.deepEqual([...segment(-0.5)], [1, 1, 1, 1]);
});

test('a pixel without attractive edges is background, whatever repels it', (t) => {
	const labels = mutexWatershed({ data: Float32Array.of(-1, -2, 3, 0), shape: [1, 4] }, [[0, 1]]);
	t.deepEqual([...labels], [0, 0, 1, 1]);
});

test('affinities that are missing or not numbers are refused', (t) => {
	t.throws(() => mutexWatershed({ data: new Float32Array(3), shape: [1, 4] }, [[0, 1]]), {
		instanceOf: RangeError,
		message: /need 4 affinities, not 3/,
	});
	t.throws(
		() => mutexWatershed({ data: Float32Array.of(1, Number.NaN), shape: [2, 1] }, [[0, 0]]),
		{
			instanceOf: RangeError,
			message: 'the affinity of channel 0 at (1, 0) is NaN',
		},
	);
});

test('random tiles come out as from the definition, followed word by word', (t) => {
	const cell = fc.integer({ min: -20, max: 20 });
	const property = fc.property(
		fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 })),
		fc.array(cell, { minLength: 144, maxLength: 144 }),
		(shape, values) => {
			const data = Float64Array.from(values.slice(0, 4 * shape[0] * shape[1]));
			const labels = mutexWatershed({ data, shape }, NEIGHBORHOOD);
			t.deepEqual(labels, segmentByDefinition(data, shape));
		},
	);
	fc.assert(property, { numRuns: 500, seed: 20250611 });
});

/** Cluster numbers relabelled pixel by pixel, exclusions in a list: slow, and plainly the definition. */
function segmentByDefinition(data: Float64Array, [rows, columns]: RowColumn): Uint32Array {
	const edges: { a: number; b: number; weight: number }[] = [];
	for (const [channel, [down, right]] of NEIGHBORHOOD.entries()) {
		for (let row = 0; row + down < rows; row++) {
			for (let column = 0; column + right < columns; column++) {
				const a = row * columns + column;
				const weight = data[channel * rows * columns + a]!;
				edges.push({ a, b: a + down * columns + right, weight });
			}
		}
	}
	const attractive = edges.filter(({ weight }) => weight > 0);
	const isForeground = (pixel: number) => attractive.some(({ a, b }) => a === pixel || b === pixel);
	const cluster = Array.from({ length: rows * columns }, (_, pixel) => pixel);
	const apart: [number, number][] = [];
	for (const { a, b, weight } of edges.sort((x, y) => Math.abs(y.weight) - Math.abs(x.weight))) {
		if (!isForeground(a) || !isForeground(b)) continue;
		const [from, to] = [cluster[a]!, cluster[b]!];
		if (from === to) continue;
		if (weight <= 0) apart.push([a, b]);
		else if (
			!apart.some(([p, q]) => [cluster[p], cluster[q]].every((end) => end === from || end === to))
		)
			for (const [pixel, own] of cluster.entries()) if (own === to) cluster[pixel] = from;
	}
	return renumber(cluster.map((own, pixel) => (isForeground(pixel) ? own + 1 : 0)));
}
