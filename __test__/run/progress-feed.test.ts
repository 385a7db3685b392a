import test from 'ava';
import { JsonProgressObserver } from '../../src/progress/json-observer.js';
import { type Counts, entriesOf, type ProgressObserver } from '../../src/progress/observer.js';
import { ProgressFeed } from '../../src/run/progress-feed.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from '../end-to-end/scratch.js';
import { counts } from '../progress/counts.js';

/** Which methods of an observer were called, with how many completed blocks. */
function watched(): { observer: ProgressObserver; calls: string[] } {
	const calls: string[] = [];
	const note = (name: string) => (states: Counts) => {
		calls.push(`${name} ${states.line?.completed}`);
	};
	const observer = {
		onStart: note('start'),
		onProgress: note('progress'),
		onFinish: note('finish'),
		onEvent: () => {},
	};
	return { observer, calls };
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test.serial(
	'whatever throws within a run, the bars end with it, and nothing stays behind',
	async (t) => {
		const scratch = new Scratch(t);
		const { observer, calls } = watched();
		const { resourceUsage } = process;
		const before = timers();
		// what the report asks for last
		process.resourceUsage = () => {
			throw new Error('a fault between start and finish');
		};
		try {
			const run = runBlockwise(line(scratch, 4), {
				...scratch.quiet,
				multiprocessing: false,
				progress: observer,
			});
			await t.throwsAsync(run, { message: 'a fault between start and finish' });
		} finally {
			process.resourceUsage = resourceUsage;
		}
		t.is(calls[0], 'start 0');
		t.regex(calls.at(-1)!, /^finish /);
		t.is(calls.filter((call) => call.startsWith('finish')).length, 1);
		t.is(timers(), before);
	},
);

test('ids that are whole numbers are shown in display order as others are', (t) => {
	const scratch = new Scratch(t);
	const tasks = ['10', '2', 'a'].map((taskId) => line(scratch, 4, {}, { taskId }));
	const run = { tasks: tasks.toReversed(), display: tasks, edges: [], resources: {} };
	const lines: string[] = [];
	const feed = new ProgressFeed(
		new JsonProgressObserver({ stream: { write: (text: string) => lines.push(text) } }),
		run,
	);
	feed.start(() => null);
	feed.close();
	const shown = lines
		.join('')
		.trim()
		.split('\n')
		.map((text) => JSON.parse(text).task);
	t.deepEqual(shown, ['10', '2', 'a', '10', '2', 'a']);
	t.deepEqual(
		entriesOf({ b: counts(), a: counts() }).map(([taskId]) => taskId),
		['b', 'a'],
	);
});

test('a feed ends once, and one that never began says nothing', (t) => {
	const task = line(new Scratch(t), 4);
	const run = { tasks: [task], display: [task], edges: [], resources: {} };
	const { observer, calls } = watched();
	const feed = new ProgressFeed(observer, run);
	feed.close();
	t.deepEqual(calls, []);
	feed.start(() => null);
	feed.close();
	feed.close();
	t.deepEqual(calls, ['start 0', 'finish 0']);
});
