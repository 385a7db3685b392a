import { FunctionError } from '../errors.js';
import { workerMark } from '../worker/marker.js';

/**
 * Refuses to start a run in a worker process: its workers would import the same module and start runs
 * again, without end. A run without workers inside a block is fine; while the module is still being
 * imported it's a script that ran by mistake.
 *
 * @throws FunctionError in a worker
 */
export function refuseNestedRun(multiprocessing: boolean): void {
	const mark = workerMark();
	if (mark === undefined || !(mark.loading || multiprocessing)) return;
	const error = new FunctionError(
		mark.loading
			? `the module with the function of task ${JSON.stringify(mark.taskId)} starts a run when it is imported, and workers import it: put the function into a module of its own`
			: `a worker of task ${JSON.stringify(mark.taskId)} can't start a run with workers of its own: pass multiprocessing: false, or start it from the driver`,
		{ taskId: mark.taskId },
	);
	// seen by the worker's entry also where the module doesn't await the run
	mark.nestedRun = error;
	throw error;
}
