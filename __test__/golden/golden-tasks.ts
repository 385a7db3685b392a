import { isBellisError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import type { VectorRegion, VectorTask } from '../vectors-read.js';

/** A block as the golden cases name it: the number of its id. */
export type VectorId = number | string;

/** The task of a golden case. */
export function goldenTask(
	taskId: string,
	{ total, read, write, fit, conflict }: VectorTask,
	options: Partial<TaskOptions> = {},
): Task {
	return new Task({
		taskId,
		totalRoi: region(total),
		readRoi: region(read),
		writeRoi: region(write),
		fit,
		readWriteConflict: conflict,
		...options,
	});
}

function region([offset, shape]: VectorRegion): Roi {
	return new Roi(offset.map(BigInt), shape.map(BigInt));
}

/** Whether a case names a coordinate, or the end of a region, that isn't a safe integer. */
export function isBeyondNumbers({ total, read, write }: VectorTask): boolean {
	return [total, read, write].some(([offset, shape]) =>
		offset.some((value, axis) => {
			const numbers = [BigInt(value), BigInt(shape[axis]!), BigInt(value) + BigInt(shape[axis]!)];
			return numbers.some(
				(number) => BigInt.asIntN(54, number) !== number || number === -(2n ** 53n),
			);
		}),
	);
}

/** Whether a case is refused with a validation error, as it has to be when it {@link isBeyondNumbers}. */
export function isRefused(line: VectorTask): boolean {
	try {
		goldenTask('t', line);
		return false;
	} catch (error) {
		return isBellisError(error, 'ERR_BELLIS_VALIDATION');
	}
}

/** A region as the golden cases write it. */
export function written(roi: Roi): [number[], number[]] {
	return [roi.offset.toArray(), roi.shape.toArray()];
}

/** Block numbers in the order of their values. */
export function ascending(ids: Iterable<VectorId | bigint>): bigint[] {
	return [...ids].map(BigInt).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
