import test from 'ava';
import { StallWatch } from '../../src/progress/stall-watch.ts';
import { type WaitingState, type WaitingTask, waitingText } from '../../src/progress/waiting.ts';
import { counts } from './counts.ts';

const task = (more: Partial<WaitingTask> = {}): WaitingTask => ({
	taskId: 'mws',
	counts: counts(),
	startingWorkers: 0,
	connectedWorkers: 0,
	idleWorkers: 0,
	endingWorkers: 0,
	waitsForResources: false,
	requires: {},
	upstream: [],
	...more,
});

const state = (tasks: WaitingTask[], more: Partial<WaitingState> = {}): WaitingState => ({
	tasks,
	resources: {},
	oldestRunning: null,
	...more,
});

const cases: [name: string, state: WaitingState, text: string | null][] = [
	[
		'workers that start',
		state([task({ counts: counts({ ready: 8 }), startingWorkers: 4 })]),
		"nothing has finished for 12 s: task 'mws' waits for 4 workers to start (8 ready blocks)",
	],
	[
		'resources, and who holds them',
		state(
			[
				task({
					taskId: 'train',
					counts: counts({ processing: 1 }),
					connectedWorkers: 1,
					requires: { gpu: 2 },
				}),
				task({ counts: counts({ ready: 8 }), waitsForResources: true, requires: { gpu: 1 } }),
			],
			{
				resources: { gpu: 2 },
				oldestRunning: { blockId: 'train/0', workerId: 0, ageSeconds: 250 },
			},
		),
		"nothing has finished for 12 s: 1 block is running, train/0 on worker 0 for 4 min; task 'mws' waits for resources: gpu (1 a worker, 2 in all), held by workers of task 'train'",
	],
	[
		'an upstream task',
		state([
			task({ taskId: 'a', counts: counts({ ready: 1 }), startingWorkers: 1 }),
			task({ taskId: 'b', counts: counts({ done: true, completed: 8 }) }),
			task({ counts: counts({ pending: 8, started: false }), upstream: ['a', 'b'] }),
		]),
		"nothing has finished for 12 s: task 'a' waits for 1 worker to start (1 ready block); task 'mws' waits for task 'a'",
	],
	[
		'the oldest running block',
		state([task({ counts: counts({ processing: 4, pending: 4 }), connectedWorkers: 4 })], {
			oldestRunning: { blockId: 'mws/7', workerId: 3, ageSeconds: 42.4 },
		}),
		'nothing has finished for 12 s: 4 blocks are running, the oldest, mws/7, on worker 3 for 42 s',
	],
	[
		'a block of an unnumbered worker',
		state([task({ counts: counts({ processing: 2 }) })], {
			oldestRunning: { blockId: 'mws/7', workerId: null, ageSeconds: 7200 },
		}),
		'nothing has finished for 12 s: 2 blocks are running, the oldest, mws/7, for 2 h',
	],
	[
		'a retry that is due later',
		state([task({ counts: counts({ pending: 1, completed: 7 }) })]),
		"nothing has finished for 12 s: task 'mws' waits before it tries 1 block again",
	],
	[
		'a start that is due later',
		state([task({ counts: counts({ ready: 2 }) })]),
		"nothing has finished for 12 s: task 'mws' waits for a worker to be started (2 ready blocks)",
	],
	[
		'a setup that takes its time',
		state([task({ counts: counts({ ready: 2 }), connectedWorkers: 1 })]),
		"nothing has finished for 12 s: task 'mws' waits for 1 worker to import and set up its module (2 ready blocks)",
	],
	[
		'idle workers',
		state([task({ counts: counts({ ready: 2 }), connectedWorkers: 1, idleWorkers: 1 })]),
		"nothing has finished for 12 s: task 'mws' is handing out 2 ready blocks",
	],
	[
		'workers that have to exit',
		state([
			task({
				counts: counts({ completed: 8, done: true }),
				connectedWorkers: 1,
				startingWorkers: 1,
			}),
		]),
		'nothing has finished for 12 s: 2 workers still have to exit',
	],
	[
		'a worker that said goodbye and stays',
		state([task({ counts: counts({ completed: 8, done: true }), endingWorkers: 1 })]),
		'nothing has finished for 12 s: 1 worker still has to exit',
	],
	[
		'a run that stops',
		state([task({ counts: counts({ processing: 1, ready: 4 }) })], {
			stopping: true,
			oldestRunning: { blockId: 'mws/7', workerId: 3, ageSeconds: 60 },
		}),
		'nothing has finished for 12 s while the run stops: 1 block is running, mws/7 on worker 3 for 60 s',
	],
	['nothing at all', state([task({ counts: counts({ completed: 8, done: true }) })]), null],
	[
		'more tasks than a line holds',
		state([
			...['a', 'b', 'c'].map((taskId) =>
				task({ taskId, counts: counts({ ready: 1 }), startingWorkers: 1 }),
			),
			task({ taskId: 'd', counts: counts({ pending: 1 }), upstream: ['a'] }),
			task({ taskId: 'e', counts: counts({ pending: 1 }), upstream: ['a', 'b', 'c', 'd'] }),
		]),
		"nothing has finished for 12 s: task 'a' waits for 1 worker to start (1 ready block); task 'b' waits for 1 worker to start (1 ready block); task 'c' waits for 1 worker to start (1 ready block); 2 more tasks wait",
	],
	[
		'many upstream tasks',
		state([
			...['a', 'b', 'c', 'd', 'e'].map((taskId) => task({ taskId, counts: counts() })),
			task({ counts: counts({ pending: 1 }), upstream: ['a', 'b', 'c', 'd', 'e'] }),
		]),
		"nothing has finished for 12 s: task 'mws' waits for task 'a' and 'b' and 'c' and 2 more",
	],
];

for (const [name, given, text] of cases) {
	test(`what is waited for: ${name}`, (t) => {
		t.is(waitingText(given, 12), text);
	});
}

function watchFixture() {
	let ticks = 10_000;
	const watch = new StallWatch({ now: () => ticks / 10 });
	const running = (completed: number) =>
		state([task({ counts: counts({ completed, processing: 1 }) })]);
	/** Seconds after now at which lines were shown, asking ten times a second. */
	const wait = (seconds: number, completed: number) => {
		const shown: number[] = [];
		for (let tick = 1; tick <= seconds * 10; tick++) {
			ticks++;
			if (watch.update(running(completed)) !== null) shown.push(Math.round(tick / 10));
		}
		return shown;
	};
	watch.update(running(0));
	return { wait };
}

test('a silence is told after 10 s, then after twice as long each time, at most 10 min', (t) => {
	const { wait } = watchFixture();
	t.deepEqual(wait(2000, 0), [10, 20, 40, 80, 160, 320, 640, 1240, 1840]);
});

test('blocks that end in time keep it quiet', (t) => {
	const { wait } = watchFixture();
	for (let completed = 1; completed < 20; completed++) t.deepEqual(wait(9, completed), []);
});

test('where blocks take a minute as a rule, only a longer silence is told', (t) => {
	const { wait } = watchFixture();
	t.deepEqual(wait(60, 0), [10, 20, 40]);
	t.deepEqual(wait(60, 1), []);
	t.deepEqual(wait(130, 2), [120]);
});
