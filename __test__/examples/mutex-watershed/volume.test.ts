import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { equalityAffinities } from '../../../examples/mutex-watershed/src/affinities.js';
import { NEIGHBORHOOD } from '../../../examples/mutex-watershed/src/layout.js';
import { readLabels, Volume } from '../../../examples/mutex-watershed/src/volume.js';
import { cut, readReference, readTileList } from './reference.js';

const GROUND_TRUTH = fileURLToPath(
	new URL('../../../examples/mutex-watershed/data/ground-truth.zarr', import.meta.url),
);

async function newVolume() {
	const path = join(await mkdtemp(join(tmpdir(), 'bellis-volume-')), 'volume.zarr');
	const groundTruth = await readLabels(GROUND_TRUTH);
	const affinities = equalityAffinities(groundTruth, NEIGHBORHOOD);
	return {
		path,
		groundTruth,
		affinities,
		volume: await Volume.create(path, groundTruth, affinities),
	};
}

test("the example's ground truth is the reference's", async (t) => {
	const { data, shape } = await readLabels(GROUND_TRUTH);
	t.deepEqual([...shape], [512, 512]);
	t.deepEqual(data, (await readReference('tutorial', 'ground_truth')) as Uint32Array);
	t.is(new Set(data).size, 39, '40 discs were drawn, 2 of them under others, on background');
});

test('a window of the affinities reads back as written, from another opening', async (t) => {
	const { path, groundTruth } = await newVolume();
	const again = await Volume.open(path);
	for (const tile of (await readTileList('tutorial')).tiles) {
		const read = await again.readAffinities(tile);
		const expected = (await readReference('tutorial', 'affinities', tile)) as Float32Array;
		t.deepEqual(read.data, expected);
		t.deepEqual(read.shape, tile.shape);
	}
	t.deepEqual((await readLabels(join(path, 'ground_truth'))).data, groundTruth.data);
});

test('a tile of the segmentation is one chunk file, and the rest stays empty', async (t) => {
	const { path, volume } = await newVolume();
	const window = { offset: [128, 256], shape: [128, 128] } as const;
	const labels = Uint32Array.from({ length: 128 * 128 }, (_, pixel) => pixel + 1);
	await volume.writeSegmentation(window, labels);

	const chunks = await readdir(join(path, 'segmentation', 'c'), { recursive: true });
	t.deepEqual(chunks.sort(), ['1', join('1', '2')]);
	const bytes = await readFile(join(path, 'segmentation', 'c', '1', '2'));
	t.deepEqual(bytes, Buffer.from(labels.buffer));
	const segmentation = await volume.readSegmentation();
	t.deepEqual(cut(segmentation, window), labels);
	t.is(segmentation.data.filter((label) => label !== 0).length, labels.length);

	await volume.clearSegmentation();
	t.true((await volume.readSegmentation()).data.every((label) => label === 0));
});

test('creating a volume replaces one of an earlier run', async (t) => {
	const { path, groundTruth, affinities, volume } = await newVolume();
	const window = { offset: [0, 0], shape: [128, 128] } as const;
	await volume.writeSegmentation(window, new Uint32Array(128 * 128).fill(5));
	const next = await Volume.create(path, groundTruth, affinities);
	t.true((await next.readSegmentation()).data.every((label) => label === 0));
});

test('what the example did not write is left alone', async (t) => {
	const { groundTruth, affinities } = await newVolume();
	const path = join(await mkdtemp(join(tmpdir(), 'bellis-volume-')), 'volume.zarr');
	await mkdir(path);
	await writeFile(join(path, 'notes.txt'), 'mine');
	await t.throwsAsync(Volume.create(path, groundTruth, affinities), {
		message: `${path} was not written by this example: name another folder with --out`,
	});
	t.deepEqual(await readdir(path), ['notes.txt']);
	t.is(await readFile(join(path, 'notes.txt'), 'utf8'), 'mine');
});
