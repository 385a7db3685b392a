import type { Box, Canvas, Colour } from './canvas.js';

/** The two digits of a done grid, 5 x 7 dots each. */
const DOTS = {
	0: [' ### ', '#   #', '#   #', '#   #', '#   #', '#   #', ' ### '],
	1: ['  #  ', ' ##  ', '  #  ', '  #  ', '  #  ', '  #  ', ' ### '],
} as const;

const COLUMNS = 5;
const ROWS = 7;

/** Draws a digit into the middle of a box, `dot` pixels for each of its 5 x 7 dots. */
export function drawDigit(
	canvas: Canvas,
	digit: keyof typeof DOTS,
	box: Box,
	dot: number,
	colour: Colour,
): void {
	const left = box.x + Math.floor((box.width - COLUMNS * dot) / 2);
	const top = box.y + Math.floor((box.height - ROWS * dot) / 2);
	for (const [row, dots] of DOTS[digit].entries()) {
		for (const [column, mark] of [...dots].entries()) {
			if (mark === ' ') continue;
			canvas.fill({ x: left + column * dot, y: top + row * dot, width: dot, height: dot }, colour);
		}
	}
}
