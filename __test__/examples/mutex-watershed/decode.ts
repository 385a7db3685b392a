// Reads pictures of the example back into what they show, knowing only how a mosaic is laid out.
import { readFile } from 'node:fs/promises';
import { PNG } from 'pngjs';

const TILE = 128;
const GUTTER = 8;
const TILES = 4;

/** A decoded PNG file. */
export async function readPng(path: string): Promise<PNG> {
	return PNG.sync.read(await readFile(path));
}

/** The colour of a pixel as one number, 0xRRGGBB. */
export function colourAt({ data, width }: PNG, x: number, y: number): number {
	return data.readUIntBE((y * width + x) * 4, 3);
}

/** The colours of a picture that shows the whole image at once, row-major. */
export function decodeImage(png: PNG): number[] {
	return Array.from({ length: png.width * png.height }, (_, pixel) =>
		colourAt(png, pixel % png.width, Math.floor(pixel / png.width)),
	);
}

/** The colours of an image shown tile by tile, row-major over the whole image, without what lies between. */
export function decodeMosaic(png: PNG): number[] {
	const edge = TILES * TILE;
	const place = (at: number) => GUTTER + at + Math.floor(at / TILE) * GUTTER;
	return Array.from({ length: edge * edge }, (_, pixel) =>
		colourAt(png, place(pixel % edge), place(Math.floor(pixel / edge))),
	);
}

/** A cell of a done grid. */
export interface DoneCell {
	/** The digit drawn in it. */
	readonly digit: '0' | '1';
	/** Whether a red frame goes around it. */
	readonly framed: boolean;
}

/**
 * The cells of a done grid, row-major. A digit is told by its own shape: the middle of a 0 is empty,
 * that of a 1 isn't.
 */
export function decodeDoneGrid(png: PNG): DoneCell[] {
	return Array.from({ length: TILES * TILES }, (_, cell) => {
		const left = GUTTER + (cell % TILES) * (TILE + GUTTER);
		const top = GUTTER + Math.floor(cell / TILES) * (TILE + GUTTER);
		const ground = colourAt(png, left + 1, top + 1);
		const isInked = (x: number, y: number) => colourAt(png, left + x, top + y) !== ground;
		const middle = TILE / 2;
		const inked = Array.from({ length: TILE * TILE }, (_, pixel) =>
			isInked(pixel % TILE, Math.floor(pixel / TILE)),
		).filter(Boolean).length;
		if (inked === 0) throw new Error(`cell ${cell} has no digit`);
		return { digit: isInked(middle, middle) ? '1' : '0', framed: isFramed(png, left, top) };
	});
}

/** Whether the tile with this left upper corner has a red frame around it. */
export function isFramed(png: PNG, left: number, top: number): boolean {
	const middle = TILE / 2;
	const around: [number, number][] = [
		[left + middle, top - 1],
		[left + middle, top + TILE],
		[left - 1, top + middle],
		[left + TILE, top + middle],
	];
	return around.every(([x, y]) => {
		const colour = colourAt(png, x, y);
		const [red, green, blue] = [colour >> 16, (colour >> 8) & 255, colour & 255];
		return red > 180 && green < 80 && blue < 80;
	});
}

/** The left upper corner of a tile in a mosaic, x and y. */
export function tileCorner(row: number, column: number): [x: number, y: number] {
	return [GUTTER + column * (TILE + GUTTER), GUTTER + row * (TILE + GUTTER)];
}
