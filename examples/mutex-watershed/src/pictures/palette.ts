import type { Colour } from './canvas.js';

const BLACK: Colour = [0, 0, 0];

/** Turns of the hue circle from one label to the next: the golden ratio keeps neighbours apart. */
const GOLDEN_TURN = 0.618033988749895;

/** Saturation and lightness, in turn, so that labels of nearly the same hue differ too. */
const SHADES = [
	[0.7, 0.58],
	[0.55, 0.72],
	[0.85, 0.46],
	[0.45, 0.6],
] as const;

/**
 * Colours of labels: black for 0, and for each other label a colour that no other label has, kept
 * over all pictures drawn with the palette.
 */
export class Palette {
	readonly #colours = new Map<number, Colour>([[0, BLACK]]);
	readonly #taken = new Set([BLACK.join()]);
	#next = 0;

	/**
	 * Gives colours to labels that have none yet, in ascending order: numbers that follow each other,
	 * as those of one tile do, get colours far apart.
	 */
	assign(labels: Iterable<number>): void {
		for (const label of [...new Set(labels)].sort((a, b) => a - b)) this.colour(label);
	}

	/** The colour of a label. */
	colour(label: number): Colour {
		let colour = this.#colours.get(label);
		if (!colour) {
			colour = this.#newColour();
			this.#colours.set(label, colour);
		}
		return colour;
	}

	#newColour(): Colour {
		for (;;) {
			const index = this.#next++;
			const [saturation, lightness] = SHADES[index % SHADES.length]!;
			const colour = fromHsl((index * GOLDEN_TURN) % 1, saturation, lightness);
			const key = colour.join();
			if (this.#taken.has(key)) continue;
			this.#taken.add(key);
			return colour;
		}
	}
}

/** Hue in turns, saturation and lightness from 0 to 1. */
function fromHsl(hue: number, saturation: number, lightness: number): Colour {
	const reach = saturation * Math.min(lightness, 1 - lightness);
	const channel = (shift: number) => {
		const sector = (shift + hue * 12) % 12;
		const level = lightness - reach * Math.max(-1, Math.min(sector - 3, 9 - sector, 1));
		return Math.round(255 * level);
	};
	return [channel(0), channel(8), channel(4)];
}
