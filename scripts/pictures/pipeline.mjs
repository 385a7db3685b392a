// The pipeline of the pictures, to be run with `bellis run`.
import { chain, Roi, Task } from 'bellis';

const make = (taskId, totalRows, options) =>
	new Task({
		taskId,
		totalRoi: new Roi([0, 0], [totalRows, 512]),
		readRoi: new Roi([0, 0], [32, 32]),
		writeRoi: new Roi([0, 0], [32, 32]),
		readWriteConflict: false,
		processFunction: new URL('./block.mjs', import.meta.url),
		...options,
	});

const fragments = make('fragments', 512, {
	maxWorkers: 2,
	config: { milliseconds: 20, failing: 'fragments/30' },
});
const relabel = make('relabel', 384, { maxWorkers: 2, config: { milliseconds: 60 } });

export default chain(fragments, relabel);
