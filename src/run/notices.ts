import type { NativeRunConfig, NativeTaskState } from '../native.js';
import { noBlocksText, resumedText, uncoveredRimText } from '../progress/notices.js';
import type { Task } from '../task/task.js';
import type { RunListener } from './run-listener.js';

/** Says what is odd about the tasks before they run: those without a block, and rims that no block writes. */
export function startNotices(listener: RunListener, tasks: readonly Task[]): void {
	for (const task of tasks) {
		const { blockGridShape, totalWriteRoi, writeRoi, totalRoi, readRoi, fit } = task;
		if (blockGridShape.includes(0)) {
			const message = noBlocksText({
				totalShape: totalRoi.shape.toArray(),
				readShape: readRoi.shape.toArray(),
				fit,
			});
			listener.onNotice(task, { level: 'warning', code: 'no-blocks', message });
		}
		const rim = uncoveredRimText({
			totalWriteOffset: totalWriteRoi.offset.toArray(),
			totalWriteShape: totalWriteRoi.shape.toArray(),
			writeShape: writeRoi.shape.toArray(),
			blockGridShape,
			fit,
		});
		if (rim) listener.onNotice(task, { level: 'warning', code: 'uncovered-rim', message: rim });
	}
}

/** Says how many blocks each task skipped and by whose word. */
export function endNotices(
	listener: RunListener,
	tasks: readonly Task[],
	config: NativeRunConfig,
	states: readonly NativeTaskState[],
): void {
	for (const [at, task] of tasks.entries()) {
		const { skipped, total } = states[at]!;
		if (skipped === 0) continue;
		const { trackingPath, skipMask, hasCheck } = config.tasks[at]!;
		const message = resumedText({
			skipped,
			total,
			storePath: trackingPath,
			hasMask: skipMask !== null,
			hasCheck,
		});
		listener.onNotice(task, { level: 'info', code: 'resumed', message });
	}
}
