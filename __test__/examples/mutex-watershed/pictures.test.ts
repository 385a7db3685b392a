import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { equalityAffinities } from '../../../examples/mutex-watershed/src/affinities.js';
import { NEIGHBORHOOD } from '../../../examples/mutex-watershed/src/layout.js';
import { Palette } from '../../../examples/mutex-watershed/src/pictures/palette.js';
import { writePictures } from '../../../examples/mutex-watershed/src/pictures/write.js';
import type { FinishedRun } from '../../../examples/mutex-watershed/src/runs.js';
import {
	decodeDoneGrid,
	decodeImage,
	decodeMosaic,
	isFramed,
	readPng,
	tileCorner,
} from './decode.js';
import { readReference, renumber } from './reference.js';

const shape = [512, 512] as const;

async function writeAll() {
	const directory = await mkdtemp(join(tmpdir(), 'bellis-pictures-'));
	const data = (await readReference('tutorial', 'ground_truth')) as Uint32Array;
	const groundTruth = { data, shape };
	const affinities = equalityAffinities(groundTruth, NEIGHBORHOOD);
	// Another label in each tile, and nothing in tile (1, 2).
	const segmentation = {
		shape,
		data: Uint32Array.from({ length: 512 * 512 }, (_, pixel) => {
			const tile = Math.floor(pixel / 512 / 128) * 4 + Math.floor((pixel % 512) / 128);
			return tile === 6 ? 0 : tile * 16_384 + 1 + (pixel % 7);
		}),
	};
	const done = Uint8Array.from({ length: 16 }, (_, tile) => (tile % 3 === 1 ? 0 : 1));
	const runs: FinishedRun[] = [
		{
			label: '1: "odd" <label>',
			outcome: { executed: 9, skipped: 2, failed: 5, elapsedMs: 12.345 },
			segmentation,
			done,
		},
		{ label: '2: raises', outcome: { raised: new TypeError('a & b') }, segmentation, done },
	];
	await writePictures(directory, {
		options: { mode: 'block-function', multiprocessing: true },
		groundTruth,
		affinities,
		runs,
	});
	return { directory, groundTruth, affinities, segmentation, done };
}

test('a label has the same colour everywhere, and no two share one', (t) => {
	const palette = new Palette();
	const labels = Array.from({ length: 2_000 }, (_, index) => index * 37);
	const colours = labels.map((label) => palette.colour(label).join());
	t.is(new Set(colours).size, labels.length);
	t.deepEqual(
		labels.map((label) => palette.colour(label).join()),
		colours,
	);
	t.is(colours[0], '0,0,0');
});

test('each picture shows what it was drawn from', async (t) => {
	const { directory, groundTruth, affinities, segmentation, done } = await writeAll();
	const png = (name: string) => readPng(join(directory, name));

	t.deepEqual(renumber(decodeImage(await png('ground-truth.png'))), renumber(groundTruth.data));
	t.deepEqual(renumber(decodeMosaic(await png('tile-grid.png'))), renumber(groundTruth.data));
	t.deepEqual(renumber(decodeMosaic(await png('run-1-output.png'))), renumber(segmentation.data));

	const bright = (channel: number, pixel: number) =>
		affinities[channel * 512 * 512 + pixel]! > 0 ? 255 : 0;
	const expected = Array.from(
		{ length: 512 * 512 },
		(_, pixel) => (bright(0, pixel) << 16) | (bright(1, pixel) << 8) | bright(2, pixel),
	);
	t.deepEqual(decodeImage(await png('affinities.png')), expected);

	const cells = decodeDoneGrid(await png('run-1-done.png'));
	t.deepEqual(
		cells.map(({ digit }) => Number(digit)),
		[...done],
	);
});

test('a red frame goes around the failing tile alone, and hides nothing', async (t) => {
	const { directory } = await writeAll();
	for (const name of ['tile-grid.png', 'run-1-output.png', 'run-1-done.png']) {
		const png = await readPng(join(directory, name));
		for (let tile = 0; tile < 16; tile++) {
			const framed = isFramed(png, ...tileCorner(Math.floor(tile / 4), tile % 4));
			t.is(framed, tile === 6, `${name}, tile ${tile}`);
		}
	}
});

test('the page holds every picture with an alternative text, the counts, and no foreign markup', async (t) => {
	const { directory } = await writeAll();
	const files = await readdir(directory);
	const page = await readFile(join(directory, 'index.html'), 'utf8');
	const images = [...page.matchAll(/<img src="data:image\/png;base64,([^"]+)" alt="([^"]*)"/g)];
	const pictures = files.filter((file) => file.endsWith('.png'));
	t.is(pictures.length, 7);
	t.is(images.length, pictures.length);
	for (const [, base64, alt] of images) {
		t.true(alt!.length > 30);
		const bytes = Buffer.from(base64!, 'base64');
		const contents = await Promise.all(pictures.map((file) => readFile(join(directory, file))));
		t.true(contents.some((content) => content.equals(bytes)));
	}
	t.regex(page, /<td>9<\/td><td>2<\/td><td class="failed">5<\/td><td>12.3 ms<\/td><td>11 of 16</);
	t.true(page.includes('1: &quot;odd&quot; &lt;label&gt;'));
	t.true(page.includes('TypeError: a &amp; b'));
	t.false(page.includes('<label>'));
	t.notRegex(page, /(src|href)="(?!data:)/);
});
