import { PNG } from 'pngjs';

/** Red, green, blue: 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** A rectangle in picture pixels: its left upper corner and its size. */
export interface Box {
	readonly x: number;
	readonly y: number;
	readonly width: number;
	readonly height: number;
}

/** An opaque picture to draw on, which becomes a PNG file. */
export class Canvas {
	readonly width: number;
	readonly height: number;
	readonly #png: PNG;

	/** A picture of one colour. Sizes in pixels. */
	constructor(width: number, height: number, background: Colour) {
		this.width = width;
		this.height = height;
		this.#png = new PNG({ width, height });
		this.fill({ x: 0, y: 0, width, height }, background);
	}

	/** Sets one pixel; what lies outside is left out. */
	set(x: number, y: number, [red, green, blue]: Colour): void {
		if (x < 0 || y < 0 || x >= this.width || y >= this.height) return;
		const at = (y * this.width + x) * 4;
		this.#png.data[at] = red;
		this.#png.data[at + 1] = green;
		this.#png.data[at + 2] = blue;
		this.#png.data[at + 3] = 255;
	}

	/** Fills a rectangle. */
	fill(box: Box, colour: Colour): void {
		for (let y = box.y; y < box.y + box.height; y++) {
			for (let x = box.x; x < box.x + box.width; x++) this.set(x, y, colour);
		}
	}

	/** Draws a frame around a rectangle, `thickness` pixels wide, outside of it. */
	frame({ x, y, width, height }: Box, thickness: number, colour: Colour): void {
		const outerWidth = width + 2 * thickness;
		const [left, top] = [x - thickness, y - thickness];
		this.fill({ x: left, y: top, width: outerWidth, height: thickness }, colour);
		this.fill({ x: left, y: y + height, width: outerWidth, height: thickness }, colour);
		this.fill({ x: left, y, width: thickness, height }, colour);
		this.fill({ x: x + width, y, width: thickness, height }, colour);
	}

	/** The picture as a PNG file's bytes. */
	encode(): Buffer {
		return PNG.sync.write(this.#png, { colorType: 2 });
	}
}
