import { FunctionError, ValidationError } from '../errors.js';
import { checkModule } from '../functions/module-problems.js';
import { hasLoader } from '../launchers/exec-argv.js';
import type { Task } from '../task/task.js';
import { trackingPathOf } from '../tracking/tracking-path.js';
import { checkLogPlace } from './log-place.js';
import type { ResolvedRunOptions } from './options.js';
import { checkStorePlaces } from './store-places.js';
import { workerFlags } from './worker-launch.js';

/**
 * Refuses what can't run before any store is opened or worker started: a task without a function, a
 * module that doesn't exist, TypeScript that nothing can load, resources beyond the budget, stores that
 * two tasks share, a log directory that can't be. Functions that can't be sent are refused where they are encoded.
 */
export function checkBeforeStart(tasks: readonly Task[], options: ResolvedRunOptions): void {
	for (const [at, task] of tasks.entries()) {
		requireFunction(task);
		requireModule(task, options.multiprocessing);
		requireResources(task, at, options.resources);
		if (task.resourceTracking && options.blockTracking && trackingPathOf(task, options) === null) {
			throw new ValidationError(
				`tasks[${at}].resourceTracking of ${JSON.stringify(task.taskId)} needs a tracking directory for the figures: give the task a trackingPath or the run a trackingDir`,
				{ path: `tasks[${at}].resourceTracking`, value: true },
			);
		}
	}
	checkStorePlaces(tasks, options);
	checkLogPlace(options);
}

function requireFunction(task: Task): void {
	if (task.functionReference !== null) return;
	throw new FunctionError(
		`task ${JSON.stringify(task.taskId)} has nothing to run: give it a processFunction or a workerFunction`,
		{ taskId: task.taskId },
	);
}

function requireModule(task: Task, multiprocessing: boolean): void {
	const { role, option } = task.functionReference!;
	if (!multiprocessing && role === 'worker') {
		throw new FunctionError(
			`task ${JSON.stringify(task.taskId)} has a workerFunction, which needs worker processes; with multiprocessing: false give it a processFunction`,
			{ taskId: task.taskId, option },
		);
	}
	checkModule(task.functionReference!, loadersOf(task));
}

/** What the task's workers can load besides plain JavaScript. */
function loadersOf(task: Task): { loader: boolean; typescript: boolean } {
	const builtIn = (process.features as { typescript?: false | string }).typescript;
	const { execArgv, nodeOptions } = workerFlags(task);
	return { loader: hasLoader([...execArgv, ...nodeOptions]), typescript: Boolean(builtIn) };
}

function requireResources(
	task: Task,
	at: number,
	resources: Readonly<Record<string, number>>,
): void {
	for (const [name, amount] of Object.entries(task.requires)) {
		const budget = Object.hasOwn(resources, name) ? resources[name]! : 0;
		if (amount <= budget) continue;
		throw new ValidationError(
			`tasks[${at}].requires of ${JSON.stringify(task.taskId)} needs ${amount} ${name} for a worker, and the run's resources have ${budget}: pass resources: { ${name}: ${amount} } or more`,
			{ path: `tasks[${at}].requires`, value: task.requires },
		);
	}
}
