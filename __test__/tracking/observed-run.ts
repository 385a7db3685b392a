import type { RunOptions } from '../../src/run/options.js';
import { Server } from '../../src/run/server.js';
import type { Task } from '../../src/task/task.js';
import type { TaskState } from '../../src/task-state.js';

/** What a run of one task did. */
export interface ObservedRun {
	readonly state: TaskState;
	/** Notices by their code. */
	readonly notices: Readonly<Record<string, string>>;
}

/** Runs one task without output, and keeps its notices. */
export async function observe(task: Task, options: RunOptions = {}): Promise<ObservedRun> {
	const notices: Record<string, string> = {};
	const states = await new Server().runBlockwise(task, {
		summary: false,
		logDir: null,
		...options,
		progress: {
			onEvent: (event) => {
				if (event.type === 'notice') notices[event.code] = event.message;
			},
		},
	});
	return { state: states[task.taskId]!, notices };
}
