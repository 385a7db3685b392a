// The public Task of a benchmark's geometry.
import { Roi, Task } from '../dist/index.js';

/** The task of a geometry of `geometries.js`. */
export function makeTask({ taskId, total, read, write, conflict }, more = {}) {
	return new Task({
		taskId,
		totalRoi: new Roi(...total),
		readRoi: new Roi(...read),
		writeRoi: new Roi(...write),
		readWriteConflict: conflict,
		...more,
	});
}
