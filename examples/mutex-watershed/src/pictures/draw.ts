import type { LabelImage } from '../affinities.js';
import { FAILING_TILE, IMAGE_SHAPE, TILE_GRID } from '../layout.js';
import { Canvas, type Colour } from './canvas.js';
import { drawDigit } from './digits.js';
import type { Palette } from './palette.js';
import { drawTiles, markTile, newMosaic, tileBox } from './tile-mosaic.js';

const GRID_LINE: Colour = [255, 214, 10];
const WHITE: Colour = [255, 255, 255];
const INK: Colour = [52, 58, 64];
const DONE: Colour = [35, 107, 62];
const NOT_DONE: Colour = [228, 239, 231];

/** Picture pixels for each dot of a digit. */
const DOT = 8;

/** Labels as colours, one picture pixel each. */
export function drawLabels(labels: LabelImage, palette: Palette): Canvas {
	palette.assign(labels.data);
	return drawImage((pixel) => palette.colour(labels.data[pixel]!));
}

/**
 * The first three affinity channels as red, green and blue, from -0.5 (dark) to 0.5 (bright).
 *
 * @param affinities `[channel, row, column]`
 */
export function drawAffinities(affinities: Float32Array): Canvas {
	const pixels = IMAGE_SHAPE[0] * IMAGE_SHAPE[1];
	const level = (channel: number, pixel: number) => {
		const shifted = affinities[channel * pixels + pixel]! + 0.5;
		return Math.round(255 * Math.min(1, Math.max(0, shifted)));
	};
	return drawImage((pixel) => [level(0, pixel), level(1, pixel), level(2, pixel)]);
}

/** Labels cut into tiles, with yellow lines between them and the failing tile in a red frame. */
export function drawTileGrid(labels: LabelImage, palette: Palette): Canvas {
	return drawLabelTiles(labels, palette, newMosaic(GRID_LINE));
}

/** The segmentation, tile by tile, with the failing tile in a red frame; black where nothing is written. */
export function drawSegmentation(labels: LabelImage, palette: Palette): Canvas {
	return drawLabelTiles(labels, palette, newMosaic());
}

/**
 * The done grid: a cell for each tile with its digit, 1 for done and 0 for not done.
 *
 * @param done one byte for each tile, row-major
 */
export function drawDoneGrid(done: Uint8Array): Canvas {
	const mosaic = newMosaic();
	const [rows, columns] = TILE_GRID;
	for (let row = 0; row < rows; row++) {
		for (let column = 0; column < columns; column++) {
			const isDone = done[row * columns + column] === 1;
			const box = tileBox([row, column]);
			mosaic.fill(box, isDone ? DONE : NOT_DONE);
			drawDigit(mosaic, isDone ? 1 : 0, box, DOT, isDone ? WHITE : INK);
		}
	}
	markTile(mosaic, FAILING_TILE);
	return mosaic;
}

function drawLabelTiles(labels: LabelImage, palette: Palette, mosaic: Canvas): Canvas {
	const columns = labels.shape[1];
	palette.assign(labels.data);
	drawTiles(mosaic, (row, column) => palette.colour(labels.data[row * columns + column]!));
	markTile(mosaic, FAILING_TILE);
	return mosaic;
}

function drawImage(colourAt: (pixel: number) => Colour): Canvas {
	const [rows, columns] = IMAGE_SHAPE;
	const canvas = new Canvas(columns, rows, WHITE);
	for (let row = 0; row < rows; row++) {
		for (let column = 0; column < columns; column++) {
			canvas.set(column, row, colourAt(row * columns + column));
		}
	}
	return canvas;
}
