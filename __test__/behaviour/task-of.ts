import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';

/** Offset and shape. */
export type Region = [offset: number[], shape: number[]];

/** A task called `t`. */
export function taskOf(
	total: Region,
	read: Region,
	write: Region,
	fit: TaskOptions['fit'],
	more: Partial<TaskOptions> = {},
): Task {
	const [totalRoi, readRoi, writeRoi] = [total, read, write].map((one) => new Roi(...one));
	return new Task({
		taskId: 't',
		totalRoi: totalRoi!,
		readRoi: readRoi!,
		writeRoi: writeRoi!,
		fit: fit ?? 'valid',
		...more,
	});
}
