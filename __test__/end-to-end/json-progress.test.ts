import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { JsonProgressObserver } from '../../src/progress/json-observer.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Task } from '../../src/task/task.js';
import { fixture, Scratch } from './scratch.js';

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'on workers' : 'in serial mode';
	test(`50,000 blocks ${how} make at most ten JSON events a second, and the last says all`, async (t) => {
		const scratch = new Scratch(t);
		const task = new Task({
			taskId: 'many',
			totalRoi: new Roi([0], [50_000]),
			readRoi: new Roi([0], [1]),
			writeRoi: new Roi([0], [1]),
			readWriteConflict: false,
			maxWorkers: 2,
			processFunction: fixture('noop.js'),
			execArgv: [],
		});
		let text = '';
		const stream = { write: (more: string) => (text += more) };
		const began = performance.now();
		const progress = new JsonProgressObserver({ stream });
		t.true(await runBlockwise(task, { ...scratch.quiet, multiprocessing, progress }));
		const seconds = (performance.now() - began) / 1000;
		const events = text
			.trimEnd()
			.split('\n')
			.map((line) => JSON.parse(line));
		// besides those at a tenth of a second: the start, the last progress and the end
		t.true(events.length <= 10 * seconds + 3, `${events.length} events in ${seconds} s`);
		t.is(events[0].event, 'start');
		t.like(events.at(-1), { event: 'finish', total: 50_000, completed: 50_000, processing: 0 });
	});
}
