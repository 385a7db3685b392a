/** A region as an interval an axis: `[0, 512) x [0, 512)`. */
export function intervalsOf(begin: readonly number[], end: readonly number[]): string {
	return begin.map((from, axis) => `[${from}, ${end[axis]})`).join(' x ');
}

/** A shape as `128 x 128`. */
export function shapeText(shape: readonly number[]): string {
	return shape.join(' x ');
}
