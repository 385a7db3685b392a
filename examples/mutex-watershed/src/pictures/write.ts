import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LabelImage } from '../affinities.js';
import { FAILING_TILE, TILE, TILE_GRID } from '../layout.js';
import type { Options } from '../options.js';
import type { FinishedRun } from '../runs.js';
import type { Canvas } from './canvas.js';
import {
	drawAffinities,
	drawDoneGrid,
	drawLabels,
	drawSegmentation,
	drawTileGrid,
} from './draw.js';
import { type Figure, type RunFigures, renderPage } from './page.js';
import { Palette } from './palette.js';

/** What the pictures show. */
export interface Subject {
	readonly options: Pick<Options, 'mode' | 'multiprocessing'>;
	readonly groundTruth: LabelImage;
	/** `[channel, row, column]` */
	readonly affinities: Float32Array;
	readonly runs: readonly FinishedRun[];
}

/** Writes each picture as a PNG file, and `index.html`, which holds them all. */
export async function writePictures(directory: string, subject: Subject): Promise<void> {
	const { groundTruth, affinities } = subject;
	const write = async (file: string, title: string, alt: string, canvas: Canvas) => {
		const png = canvas.encode();
		await writeFile(join(directory, file), png);
		return { file, title, alt, png, width: canvas.width, height: canvas.height } satisfies Figure;
	};

	const labelColours = new Palette();
	const discs = new Set(groundTruth.data).size - 1;
	const tile = `row ${FAILING_TILE[0]}, column ${FAILING_TILE[1]}`;
	const inputs = [
		await write(
			'ground-truth.png',
			'Ground truth',
			`${discs} discs, each in a colour of its own, on a black background; many overlap.`,
			drawLabels(groundTruth, labelColours),
		),
		await write(
			'affinities.png',
			'Affinities, channels 0 to 2 as red, green and blue',
			'White where a pixel and its partners have the same label; coloured lines along the edges of the discs.',
			drawAffinities(affinities),
		),
		await write(
			'tile-grid.png',
			'Tiles',
			`The ground truth cut into 4 x 4 tiles by yellow lines; a red frame marks the tile at ${tile}.`,
			drawTileGrid(groundTruth, labelColours),
		),
	];

	const segmentColours = new Palette();
	const runs: RunFigures[] = [];
	for (const [index, run] of subject.runs.entries()) {
		const name = `run-${index + 1}`;
		const done = run.done.filter((cell) => cell === 1).length;
		const output = await write(
			`${name}-output.png`,
			'Output on disk',
			`Segmentation after run ${run.label}: ${countWritten(run)} of 16 tiles hold segments, the others are black.`,
			drawSegmentation(run.segmentation, segmentColours),
		);
		const grid = await write(
			`${name}-done.png`,
			`Done grid, ${done} of ${run.done.length} tiles`,
			`Done grid after run ${run.label}, row by row: ${describeCells(run.done)}.`,
			drawDoneGrid(run.done),
		);
		runs.push({ run, output, grid });
	}
	await writeFile(join(directory, 'index.html'), renderPage(subject.options, inputs, runs));
}

function countWritten({ segmentation }: FinishedRun): number {
	const written = new Set<number>();
	const [rows, columns] = segmentation.shape;
	for (let row = 0; row < rows; row++) {
		for (let column = 0; column < columns; column++) {
			if (segmentation.data[row * columns + column] === 0) continue;
			written.add(Math.floor(row / TILE) * TILE_GRID[1] + Math.floor(column / TILE));
		}
	}
	return written.size;
}

/** The digits of a done grid, a word for each row. */
function describeCells(done: Uint8Array): string {
	const columns = TILE_GRID[1];
	return done.join('').replaceAll(new RegExp(`.{${columns}}(?=.)`, 'g'), '$& ');
}
