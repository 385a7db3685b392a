import { realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { ValidationError } from '../errors.js';
import type { Task } from '../task/task.js';
import { trackingPathOf } from '../tracking/tracking-path.js';
import type { ResolvedRunOptions } from './options.js';

/** A task's store, and where it really lies. */
interface Place {
	readonly task: Task;
	readonly path: string;
	readonly real: string;
}

/**
 * Refuses two tasks with one store, by whatever spelling or link, and a store inside another one.
 *
 * @throws ValidationError
 */
export function checkStorePlaces(tasks: readonly Task[], options: ResolvedRunOptions): void {
	const places: Place[] = [];
	for (const [at, task] of tasks.entries()) {
		const path = trackingPathOf(task, options);
		if (path === null) continue;
		const place = { task, path, real: realPlace(path) };
		for (const other of places) {
			const problem = conflict(other, place);
			if (problem !== null) {
				throw new ValidationError(problem, { path: `tasks[${at}].trackingPath`, value: path });
			}
		}
		places.push(place);
	}
}

function conflict(first: Place, second: Place): string | null {
	const [one, other] = [first, second].map(({ task }) => JSON.stringify(task.taskId));
	if (first.real === second.real) {
		const link = first.path === second.path ? '' : ` (as ${first.path} and ${second.path})`;
		return `tasks ${one} and ${other} have the same tracking directory ${first.real}${link}: give each its own`;
	}
	const [outer, inner] = first.real.length < second.real.length ? [first, second] : [second, first];
	if (!inner.real.startsWith(outer.real.endsWith(sep) ? outer.real : outer.real + sep)) return null;
	const of = (place: Place) => JSON.stringify(place.task.taskId);
	return `the tracking directory ${inner.path} of task ${of(inner)} lies inside ${outer.path}, which is that of task ${of(outer)}: put it beside`;
}

/** A path without links, as far as it exists. What can't be looked at is refused when it is opened. */
function realPlace(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		const parent = dirname(path);
		return parent === path ? path : join(realPlace(parent), basename(path));
	}
}
