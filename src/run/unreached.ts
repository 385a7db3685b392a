import type { NativeRunResult } from '../native.js';
import type { Task } from '../task/task.js';
import type { RunDriver } from './run-driver.js';

/**
 * For tasks none of whose workers ever connected: which address they had to reach, and how to give them
 * another one. Nothing for workers that can't but reach it, those on this machine.
 */
export function unreached(
	tasks: readonly Task[],
	{ reports }: Pick<NativeRunResult, 'reports'>,
	{ address }: Pick<RunDriver, 'address'>,
): Map<Task, string> {
	const hints = new Map<Task, string>();
	if (address === null) return hints;
	const loopback = /^(127\.|\[::1\])/.test(address);
	for (const [at, task] of tasks.entries()) {
		const { workers } = reports[at]!;
		const came = workers.length === 0 || workers.some(({ connected }) => connected);
		// those that no launcher could even start had nobody to reach
		const begun = workers.some(({ exitReason }) => !exitReason.startsWith('LauncherError: '));
		if (came || !begun || (loopback && task.launcher === undefined)) continue;
		const reach = loopback ? ', which only this machine can reach' : '';
		hints.set(
			task,
			`None of them ever connected to ${address}${reach}: if that is not where your workers find this machine, set the run option host ('auto', or a name or address that they can reach).`,
		);
	}
	return hints;
}
