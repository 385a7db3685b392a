import test from 'ava';
import type { Block } from '../../src/block.js';
import { Pipeline } from '../../src/pipeline.js';
import { Scheduler } from '../../src/scheduler.js';
import type { TaskState } from '../../src/task-state.js';
import { readVectors, type VectorTask } from '../vectors-read.js';
import { goldenTask, type VectorId } from './golden-tasks.js';

interface ScheduledTask extends VectorTask {
	id: string;
	max_retries: number;
	skip_mask?: number[];
	grid_shape: number[];
}

/** total, ready, processing, completed, skipped, failed, orphaned */
type CounterLine = [number, number, number, number, number, number, number];
type Step = [
	'acquire' | 'success' | 'failed',
	string,
	VectorId | null,
	Record<string, CounterLine>,
];

interface ScheduleCase {
	case: number;
	tasks: ScheduledTask[];
	edges: [string, string][];
	start: Record<string, CounterLine>;
	steps: Step[];
	all_done: boolean;
}

function schedulerFor({ tasks, edges }: ScheduleCase): Scheduler {
	const made = new Map(
		tasks.map((line) => {
			const { id, max_retries: maxRetries, skip_mask: cells } = line;
			const skipMask = cells === undefined ? undefined : Uint8Array.from(cells);
			return [id, goldenTask(id, line, { maxRetries, skipMask })];
		}),
	);
	const pairs = edges.map(([up, down]) => [made.get(up)!, made.get(down)!] as const);
	return new Scheduler(new Pipeline([...made.values()], pairs));
}

function countersOf(states: Readonly<Record<string, TaskState>>): Record<string, CounterLine> {
	return Object.fromEntries(
		Object.entries(states).map(([id, state]) => {
			const { total, ready, pending, processing, completed, skipped, failed, orphaned } = state;
			if (ready + pending + processing + completed + failed + orphaned !== total) {
				throw new Error(`the counters of ${id} don't add up`);
			}
			return [id, [total, ready, processing, completed, skipped, failed, orphaned]];
		}),
	);
}

test('every step of every line of schedule.jsonl is what the scheduler does', (t) => {
	const lines = readVectors<ScheduleCase>('schedule.jsonl');
	let steps = 0;
	for (const line of lines) {
		const scheduler = schedulerFor(line);
		const out = new Map<string, Block>();
		t.deepEqual(countersOf(scheduler.states), line.start, `case ${line.case}`);
		for (const [index, [action, taskId, id, counters]] of line.steps.entries()) {
			const where = `case ${line.case}, step ${index}: ${action}`;
			if (action === 'acquire') {
				const block = scheduler.acquire(taskId);
				t.is(block?.number ?? null, id === null ? null : BigInt(id), where);
				if (block !== null) out.set(block.id, block);
			} else {
				const block = out.get(`${taskId}/${id}`)!;
				out.delete(block.id);
				if (action === 'success') scheduler.release(block);
				else scheduler.fail(block, new Error('on purpose'));
				t.is(block.status, action, where);
			}
			t.deepEqual(countersOf(scheduler.states), counters, where);
			steps++;
		}
		const done = Object.values(scheduler.states).every((state) => state.done);
		t.is(done, line.all_done, `case ${line.case}`);
	}
	t.log(`${lines.length} lines, ${steps} steps`);
	t.true(steps > 1000);
});
