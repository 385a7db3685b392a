import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';

/** Four blocks of ten in one dimension. */
export const fourBlocks: TaskOptions = {
	taskId: 'four',
	totalRoi: new Roi([0], [40]),
	readRoi: new Roi([0], [10]),
	writeRoi: new Roi([0], [10]),
};

/** A task of four blocks, with some options changed. */
export function task(taskId: string, options: Partial<TaskOptions> = {}): Task {
	return new Task({ ...fourBlocks, taskId, ...options });
}
