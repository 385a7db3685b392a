// task.mjs: how the image is cut into blocks.
import { Roi, Task } from 'bellis';
import { size } from './smooth.mjs';

export default new Task({
	taskId: 'smooth',
	totalRoi: new Roi([0, 0], [size, size]),
	readRoi: new Roi([0, 0], [132, 132]), // a block reads two pixels more on each side
	writeRoi: new Roi([2, 2], [128, 128]), // than it writes
	fit: 'shrink', // blocks at the border are smaller
	readWriteConflict: false, // nobody reads what another block writes
	processFunction: new URL('./smooth.mjs', import.meta.url),
	maxWorkers: 4,
	trackingPath: 'tracking/smooth', // remembers what is done
});
