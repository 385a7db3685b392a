import bellis = require('bellis');

const { Roi, Task, chain } = bellis;

const task: bellis.Task = new Task({
	taskId: 'a',
	totalRoi: new Roi([0], [40]),
	readRoi: new Roi([0], [10]),
	writeRoi: new Roi([0], [10]),
	processFunction: (block: bellis.Block) => block.id,
});
const pipeline: bellis.Pipeline = chain(task);
const options: bellis.RunOptions = { progress: false };
// @ts-expect-error no such option
const wrong: bellis.RunOptions = { progres: false };

export = { pipeline, options, wrong };
