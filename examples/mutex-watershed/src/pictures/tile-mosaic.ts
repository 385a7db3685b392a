import { IMAGE_SHAPE, type RowColumn, TILE, TILE_GRID } from '../layout.js';
import { type Box, Canvas, type Colour } from './canvas.js';

/** Picture pixels between two tiles and around them: what is drawn there hides no pixel of a tile. */
export const GUTTER = 8;

const PAPER: Colour = [246, 246, 243];
const FAILING: Colour = [224, 32, 32];

/** The place of a tile in a mosaic. */
export function tileBox([row, column]: RowColumn): Box {
	return {
		x: GUTTER + column * (TILE + GUTTER),
		y: GUTTER + row * (TILE + GUTTER),
		width: TILE,
		height: TILE,
	};
}

/** An empty picture of the tile grid, one picture pixel for each pixel of a tile. */
export function newMosaic(gutterColour: Colour = PAPER): Canvas {
	const [rows, columns] = TILE_GRID;
	return new Canvas(
		GUTTER + columns * (TILE + GUTTER),
		GUTTER + rows * (TILE + GUTTER),
		gutterColour,
	);
}

/** Draws the whole image into a mosaic, each pixel in its tile's place. */
export function drawTiles(mosaic: Canvas, colourAt: (row: number, column: number) => Colour): void {
	const [rows, columns] = IMAGE_SHAPE;
	for (let row = 0; row < rows; row++) {
		for (let column = 0; column < columns; column++) {
			const box = tileBox([Math.floor(row / TILE), Math.floor(column / TILE)]);
			mosaic.set(box.x + (column % TILE), box.y + (row % TILE), colourAt(row, column));
		}
	}
}

/** Draws a red frame around a tile, in the gutter. */
export function markTile(mosaic: Canvas, tile: RowColumn): void {
	mosaic.frame(tileBox(tile), GUTTER - 2, FAILING);
}
