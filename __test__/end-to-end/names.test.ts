import { existsSync } from 'node:fs';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from './scratch.js';

/** Titles of the difficulties that these tests are about. */
const CASE = "A colon in a task name breaks the worker's context";

for (const taskId of ['dummy:123', 'a=b', 'a b', '日本', '50%25', '__proto__', 'x'.repeat(150)]) {
	test(`${CASE}: a task is called ${taskId.slice(0, 20)}: every block completes, also with a log folder of that kind`, async (t) => {
		const scratch = new Scratch(t);
		const logDir = scratch.path('logs:with=odd %20 names');
		const options = { ...scratch.quiet, logDir, returnStates: true } as const;
		const states = await runBlockwise(line(scratch, 4, {}, { taskId }), options);
		t.deepEqual(Object.keys(states), [taskId]);
		t.is(Object.values(states)[0]!.completed, 4);
		t.true(existsSync(`${logDir}/${taskId}/worker_0.out`));
	});
}
