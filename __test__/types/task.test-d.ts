import {
	type Block,
	type Context,
	chain,
	type Fit,
	isBellisError,
	type Pipeline,
	parallel,
	Roi,
	type SkipMask,
	Task,
	type TaskReport,
} from 'bellis';
import { expectType, type Same } from './expect-type.js';

const task = new Task({
	taskId: 'fragments',
	totalRoi: new Roi([0, 0], [512n, 512]),
	readRoi: { offset: [0, 0], shape: [128, 128] },
	writeRoi: new Roi([0, 0], [128, 128]),
	processFunction: async (block, context) => {
		expectType<Same<typeof block, Block>>();
		expectType<Same<typeof context, Context>>();
	},
	checkFunction: (block) => block.index[0] === 0,
	maxWorkers: 'auto',
	skipMask: [
		[true, false],
		[0, 1],
	],
});
expectType<Same<typeof task.maxWorkers, number>>();
expectType<Same<typeof task.fit, Fit>>();
expectType<Same<typeof task.blockGridShape, readonly number[]>>();
expectType<Same<typeof task.skipMask, SkipMask | undefined>>();
expectType<Same<typeof task.trackingPath, string | false | undefined>>();
expectType<Same<ReturnType<typeof task.cellOf>, readonly number[]>>();

new Task({ ...task, processFunction: new URL('./a.js', import.meta.url) });
new Task({ ...task, processFunction: { module: './a.js', export: 'b' } });
new Task({ ...task, workerFunction: (context) => context.taskId });
// @ts-expect-error an option that doesn't exist
new Task({ ...task, timeout: 3 });
// @ts-expect-error not one of the fits
new Task({ ...task, fit: 'round' });
// @ts-expect-error a required option is missing
new Task({ taskId: 'a' });
// @ts-expect-error options don't change
task.fit = 'shrink';
// @ts-expect-error what is inside stays inside
void task.geometry;

const pipeline = chain(task, parallel(task, task.chain(task)));
expectType<Same<typeof pipeline, Pipeline>>();
expectType<Same<Awaited<typeof pipeline>, Pipeline>>();

declare const block: Block;
expectType<Same<typeof block.id, string>>();
expectType<Same<typeof block.number, bigint>>();
expectType<Same<typeof block.status, 'created' | 'processing' | 'success' | 'failed'>>();
block.status = 'failed';
// @ts-expect-error blocks are made by bellis
new (null as unknown as typeof Block)();

const roi = task.totalRoi;
expectType<Same<typeof roi.size, number>>();
expectType<Same<ReturnType<typeof roi.shape.toArray>, number[]>>();
const [first = 0, ...rest] = roi.offset;
expectType<Same<typeof first, number>>();
expectType<Same<typeof rest, number[]>>();

declare const report: TaskReport;
expectType<Same<typeof report.workers.startup.mean, number>>();

try {
	throw new Error('any');
} catch (error) {
	if (isBellisError(error, 'ERR_BELLIS_VALIDATION')) expectType<Same<typeof error.path, string>>();
	if (isBellisError(error, 'ERR_BELLIS_INTERRUPTED')) {
		expectType<Same<typeof error.exitCode, number>>();
	}
	if (isBellisError(error)) {
		if (error.code === 'ERR_BELLIS_MODULE') expectType<Same<typeof error.module, string>>();
	}
	// @ts-expect-error no such code
	isBellisError(error, 'ERR_BELLIS_NOTHING');
}
