import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTEXT_VARIABLE, type Context } from '../context.js';
import { inheritedFlags, joinNodeOptions, splitNodeOptions } from '../launchers/exec-argv.js';
import type { LaunchSpec, WorkerLogs } from '../launchers/launcher.js';
import type { LogMode } from '../settings.js';
import type { Task } from '../task/task.js';
import { FUNCTION_VARIABLE } from '../worker/marker.js';

/** What goes into the start of a worker. */
export interface WorkerLaunch {
	readonly task: Task;
	readonly workerId: number;
	readonly context: Context;
	/** Encoded function, for workers that make their own client; null for others. */
	readonly workerFunction: string | null;
	readonly logs: WorkerLogs;
}

/** What a launcher is told about a worker. */
export function launchSpec({
	task,
	workerId,
	context,
	workerFunction,
	logs,
}: WorkerLaunch): LaunchSpec {
	const { execArgv, nodeOptions } = workerFlags(task);
	return {
		taskId: task.taskId,
		workerId,
		command: process.execPath,
		args: [...execArgv, workerEntry()],
		env: {
			...task.env,
			[CONTEXT_VARIABLE]: context.toSecretText(),
			NODE_OPTIONS: task.env.NODE_OPTIONS ?? joinNodeOptions(nodeOptions),
			// an empty one keeps that of an outer run away
			[FUNCTION_VARIABLE]: workerFunction ?? '',
		},
		context,
		logs,
	};
}

/** Node's flags for a task's workers: the task's own, or those of this process that workers may have. */
export function workerFlags(task: Task): { execArgv: string[]; nodeOptions: string[] } {
	const options = task.env.NODE_OPTIONS;
	return {
		execArgv: [...(task.execArgv ?? inheritedFlags(process.execArgv))],
		nodeOptions:
			options === undefined
				? inheritedFlags(splitNodeOptions(process.env.NODE_OPTIONS ?? ''))
				: splitNodeOptions(options),
	};
}

/**
 * Where a worker's output goes.
 *
 * @param folder the task's folder of log files; null for no files
 * @param shared whether other workers write to the console too
 */
export function workerLogs(
	mode: LogMode,
	folder: string | null,
	workerId: number,
	shared: boolean,
): WorkerLogs {
	// without a folder there is only the console
	const effective: LogMode = folder === null && mode !== 'none' ? 'console' : mode;
	const files = effective === 'file' || effective === 'both';
	const console = effective === 'console' || effective === 'both';
	return {
		out: files ? join(folder!, `worker_${workerId}.out`) : null,
		err: files ? join(folder!, `worker_${workerId}.err`) : null,
		console: console ? (shared ? 'prefixed' : 'plain') : 'none',
	};
}

let entry: string | undefined;

/** The program that a worker runs. Also from sources it is the compiled one where there is one: it starts sooner. */
function workerEntry(): string {
	if (entry === undefined) {
		const compiled = new URL('../../dist/worker/entry.js', import.meta.url);
		const own = new URL('../worker/entry.ts', import.meta.url);
		const source = import.meta.url.endsWith('.ts') && !existsSync(compiled);
		entry = fileURLToPath(source ? own : compiled);
	}
	return entry;
}
