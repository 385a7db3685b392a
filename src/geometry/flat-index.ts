/** The place in a grid that has a row-major index. */
export function unravel(index: number | bigint, shape: readonly number[]): number[] {
	if (typeof index === 'bigint' && index > Number.MAX_SAFE_INTEGER) return unravelBig(index, shape);
	const position = new Array<number>(shape.length);
	let rest = Number(index);
	for (let axis = shape.length - 1; axis >= 0; axis--) {
		const size = shape[axis]!;
		position[axis] = rest % size;
		rest = (rest - position[axis]!) / size;
	}
	return position;
}

/** The row-major index of a place in a grid; a bigint past 2^53 - 1. */
export function ravel(position: readonly number[], shape: readonly number[]): number | bigint {
	let index = 0;
	for (let axis = 0; axis < position.length; axis++) {
		index = index * shape[axis]! + position[axis]!;
		if (!Number.isSafeInteger(index)) return ravelBig(position, shape);
	}
	return index;
}

function unravelBig(index: bigint, shape: readonly number[]): number[] {
	const position = new Array<number>(shape.length);
	let rest = index;
	for (let axis = shape.length - 1; axis >= 0; axis--) {
		const size = BigInt(shape[axis]!);
		position[axis] = Number(rest % size);
		rest /= size;
	}
	return position;
}

function ravelBig(position: readonly number[], shape: readonly number[]): bigint {
	return position.reduce((index, value, axis) => index * BigInt(shape[axis]!) + BigInt(value), 0n);
}
