/**
 * The number of the block in a cell of the tracking grid, by the generalised Cantor pairing: the
 * sum over the axes n of C(i0 + .. + in + n, n + 1). Exact: a number up to 2^53 - 1, a bigint
 * beyond.
 */
export function blockNumber(cell: readonly number[]): number | bigint {
	let sum = 0;
	let number = 0;
	for (let axis = 0; axis < cell.length; axis++) {
		sum += cell[axis]!;
		const term = binomial(sum + axis, axis + 1);
		number += term;
		// NaN from a term that was too large ends here as well.
		if (!Number.isSafeInteger(number)) return bigBlockNumber(cell);
	}
	return number;
}

/** C(n, k), or NaN where an intermediate product isn't exact. */
function binomial(n: number, k: number): number {
	if (k > n) return 0;
	let result = 1;
	for (let i = 1; i <= k; i++) {
		const product = result * (n - k + i);
		if (!Number.isSafeInteger(product)) return Number.NaN;
		result = product / i;
	}
	return result;
}

function bigBlockNumber(cell: readonly number[]): bigint {
	let sum = 0n;
	let number = 0n;
	cell.forEach((value, axis) => {
		sum += BigInt(value);
		number += bigBinomial(sum + BigInt(axis), axis + 1);
	});
	return number;
}

function bigBinomial(n: bigint, k: number): bigint {
	const size = BigInt(k);
	if (size > n) return 0n;
	let result = 1n;
	for (let i = 1n; i <= size; i++) result = (result * (n - size + i)) / i;
	return result;
}
