import { roughDuration } from '../report/quantity.js';
import type { TaskCounts } from './observer.js';

/** A task as the question 'why isn't it running?' sees it. */
export interface WaitingTask {
	readonly taskId: string;
	readonly counts: TaskCounts;
	/** Workers asked for that haven't connected. */
	readonly startingWorkers: number;
	readonly connectedWorkers: number;
	/** Of these without a block. */
	readonly idleWorkers: number;
	/** Workers that have said goodbye and whose end hasn't been seen. */
	readonly endingWorkers: number;
	/** Wants a worker and lacks the resources for it. */
	readonly waitsForResources: boolean;
	/** What one of its workers needs, by name. */
	readonly requires: Readonly<Record<string, number>>;
	/** Ids of the tasks that it reads from. */
	readonly upstream: readonly string[];
}

/** What a run knows of itself at one moment. */
export interface WaitingState {
	/** In display order. */
	readonly tasks: readonly WaitingTask[];
	/** What the workers of all tasks may use up together. */
	readonly resources: Readonly<Record<string, number>>;
	/** The block that has been running longest. */
	readonly oldestRunning: {
		readonly blockId: string;
		readonly workerId: number | null;
		readonly ageSeconds: number;
	} | null;
	/** Whether the run is being stopped, by a signal or a limit. */
	readonly stopping?: boolean;
}

/** Most tasks that a line speaks of. */
const mostTasks = 3;

/** One line that says what a run is waiting for; null when there is nothing to say. */
export function waitingText(state: WaitingState, quietSeconds: number): string | null {
	const running = runningText(state);
	const parts = [...(running ? [running] : [])];
	const waiting = state.stopping ? [] : state.tasks.flatMap((task) => taskText(task, state));
	parts.push(...waiting.slice(0, mostTasks));
	if (waiting.length > mostTasks) {
		const more = waiting.length - mostTasks;
		parts.push(`${more} more task${more === 1 ? ' waits' : 's wait'}`);
	}
	if (parts.length === 0) {
		const workers = sum(
			state.tasks,
			(task) => task.connectedWorkers + task.startingWorkers + task.endingWorkers,
		);
		if (workers === 0) return null;
		parts.push(`${plural(workers, 'worker')} still ${workers === 1 ? 'has' : 'have'} to exit`);
	}
	const stopping = state.stopping ? ' while the run stops' : '';
	return `nothing has finished for ${roughDuration(quietSeconds)}${stopping}: ${parts.join('; ')}`;
}

function runningText({ tasks, oldestRunning }: WaitingState): string | null {
	const processing = sum(tasks, (task) => task.counts.processing);
	if (processing === 0) return null;
	const blocks = `${plural(processing, 'block')} ${processing === 1 ? 'is' : 'are'} running`;
	if (!oldestRunning) return blocks;
	const { blockId, workerId, ageSeconds } = oldestRunning;
	const where = workerId === null ? '' : ` on worker ${workerId}`;
	const which = processing === 1 ? blockId : `the oldest, ${blockId},`;
	return `${blocks}, ${which}${where} for ${roughDuration(ageSeconds)}`;
}

/** What one task waits for; nothing when it has ended or some of its blocks are running. */
function taskText(task: WaitingTask, state: WaitingState): string[] {
	const { counts } = task;
	if (counts.done || counts.abandoned || counts.processing > 0) return [];
	const name = `task '${task.taskId}'`;
	const ready = `${plural(counts.ready, 'ready block')}`;
	if (counts.ready > 0) {
		if (task.idleWorkers > 0) return [`${name} is handing out ${ready}`];
		if (task.startingWorkers > 0) {
			const workers = plural(task.startingWorkers, 'worker');
			return [`${name} waits for ${workers} to start (${ready})`];
		}
		if (task.connectedWorkers > 0) {
			const workers = plural(task.connectedWorkers, 'worker');
			const their = task.connectedWorkers === 1 ? 'its module' : 'their module';
			return [`${name} waits for ${workers} to import and set up ${their} (${ready})`];
		}
		if (task.waitsForResources) return [`${name} waits for ${resourcesText(task, state)}`];
		return [`${name} waits for a worker to be started (${ready})`];
	}
	if (counts.pending === 0) return [];
	const upstream = task.upstream.filter((id) => {
		const of = state.tasks.find(({ taskId }) => taskId === id);
		return of !== undefined && !of.counts.done && !of.counts.abandoned;
	});
	if (upstream.length > 0) return [`${name} waits for task ${quotedList(upstream)}`];
	return [`${name} waits before it tries ${plural(counts.pending, 'block')} again`];
}

function resourcesText(task: WaitingTask, { tasks, resources }: WaitingState): string {
	const names = Object.keys(task.requires);
	const wanted = names.map(
		(name) => `${name} (${task.requires[name]} a worker, ${resources[name] ?? 0} in all)`,
	);
	const holders = tasks
		.filter((other) => other.connectedWorkers + other.startingWorkers > 0)
		.filter((other) => names.some((name) => (other.requires[name] ?? 0) > 0))
		.map(({ taskId }) => taskId);
	const held = holders.length > 0 ? `, held by workers of task ${quotedList(holders)}` : '';
	return `resources: ${wanted.join(', ')}${held}`;
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
const quotedList = (ids: readonly string[]) => {
	const shown = ids.slice(0, mostTasks).map((id) => `'${id}'`);
	if (ids.length > mostTasks) shown.push(`${ids.length - mostTasks} more`);
	return shown.join(' and ');
};
const sum = (tasks: readonly WaitingTask[], of: (task: WaitingTask) => number) =>
	tasks.reduce((total, task) => total + of(task), 0);
