import type { Task } from '../task/task.js';
import type { RunOrder } from './options.js';

/**
 * Whose blocks a serial run takes first: the task of the highest priority that has one. Of several, levels
 * first works off one task as far as it goes before the next, and depth first takes the one furthest downstream.
 */
export class SerialOrder {
	readonly #classes: { tasks: number[]; begin: number }[];
	readonly #depthFirst: boolean;

	/**
	 * @param tasks in pipeline order, whose positions are given
	 * @param display the same, each after those it waits for
	 */
	constructor(tasks: readonly Task[], display: readonly Task[], order: RunOrder) {
		this.#depthFirst = order === 'depth-first';
		const sorted = this.#depthFirst ? [...display].reverse() : tasks;
		const priorities = [...new Set(tasks.map(({ priority }) => priority))].sort((a, b) => b - a);
		this.#classes = priorities.map((priority) => ({
			tasks: sorted.filter((task) => task.priority === priority).map((task) => tasks.indexOf(task)),
			begin: 0,
		}));
	}

	/**
	 * Asks the tasks in turn.
	 *
	 * @param take gives -1 for a task without a ready block
	 * @returns the task's position and what it gave; null when none has a block
	 */
	next(take: (task: number) => number): { task: number; taken: number } | null {
		for (const one of this.#classes) {
			for (let i = 0; i < one.tasks.length; i++) {
				const at = (one.begin + i) % one.tasks.length;
				const taken = take(one.tasks[at]!);
				if (taken === -1) continue;
				if (!this.#depthFirst) one.begin = at;
				return { task: one.tasks[at]!, taken };
			}
		}
		return null;
	}
}
