import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { isBellisError, type ValidationError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import { fourBlocks, task } from './tasks.js';

/** The refusal of options that don't suit their types. */
function refusal(t: ExecutionContext, options: Record<string, unknown>): ValidationError {
	const error = t.throws(
		() => new Task({ ...fourBlocks, ...options } as TaskOptions),
		undefined,
		JSON.stringify(options, (_, v) => (typeof v === 'bigint' ? `${v}` : v)),
	);
	if (!isBellisError(error, 'ERR_BELLIS_VALIDATION')) throw error ?? new Error('not refused');
	return error;
}

test('defaults are filled in and a task never changes', (t) => {
	const made = new Task(fourBlocks);
	t.like(made, {
		taskId: 'four',
		readWriteConflict: true,
		fit: 'valid',
		maxWorkers: 1,
		maxRetries: 2,
		maxWorkerRestarts: 10,
		timeoutMs: 600_000,
		resourceTracking: false,
		verifyDone: false,
		allowUncovered: false,
		concurrency: 1,
		priority: 0,
		retryDelayMs: 0,
		onBlockError: 'restart-worker',
		onLayoutMismatch: 'error',
		connectTimeoutMs: 600_000,
	});
	for (const name of [
		'trackingPath',
		'skipMask',
		'launcher',
		'config',
		'execArgv',
		'grownFrom',
		'processFunction',
		'workerFunction',
		'checkFunction',
	] as const) {
		t.is(made[name], undefined, name);
	}
	t.deepEqual(made.requires, {});
	t.deepEqual(made.env, {});
});

const anyBad = [null, 'x', {}, [], NaN, true];
const badIntegers = [0, -1, 1.5, NaN, Infinity, '4', null, 2 ** 53, 4n, [1]];
const badRois = [null, 3, 'x', [], [[0], [1]], {}, { offset: [0] }];

const bad: Record<string, readonly unknown[]> = {
	taskId: [
		'',
		3,
		null,
		'a/b',
		'../x',
		'a\\b',
		'.',
		'..',
		'a\0b',
		'a\nb',
		'\ud800',
		'x'.repeat(300),
		'日'.repeat(100),
	],
	totalRoi: badRois,
	readRoi: badRois,
	writeRoi: badRois,
	grownFrom: badRois,
	processFunction: [
		null,
		3,
		'',
		{},
		[],
		true,
		'segment',
		'segment.js',
		new URL('https://a/b.js'),
		{ export: 'x' },
		{ module: 3 },
		{ module: './a.js', exports: 'x' },
		{ module: './a.js', export: '' },
	],
	workerFunction: [null, 3, '', {}, 'pkg/thing'],
	checkFunction: [null, 3, 'x', {}],
	readWriteConflict: [null, 0, 1, 'true'],
	fit: [null, 'Valid', 'bogus', 0, ['valid']],
	maxWorkers: [...badIntegers, 'many', 2 ** 32],
	maxRetries: badIntegers.filter((value) => value !== 0),
	maxWorkerRestarts: badIntegers.filter((value) => value !== 0),
	timeoutMs: [0, -1, NaN, Infinity, -Infinity, '600', null, 2 ** 53, 5n],
	connectTimeoutMs: [0, -1, NaN, Infinity, '600', null],
	retryDelayMs: [-1, NaN, Infinity, '600', null],
	trackingPath: [true, '', 3, null, 'a\0b', new URL('https://a/b')],
	resourceTracking: [null, 1, 'yes'],
	requires: [null, 'gpu', [], { gpu: -1 }, { gpu: 1.5 }, { gpu: '1' }],
	skipMask: [
		null,
		'x',
		{},
		3,
		[true],
		new Uint8Array(3),
		[1, 0, 2, 0],
		[[1, 0, 0, 0]],
		new BigUint64Array(4),
	],
	verifyDone: [null, 1, true],
	allowUncovered: [null, 1],
	launcher: [null, 'slurm', {}, { start: 1 }, () => {}],
	config: [() => {}, { a: Symbol('x') }],
	execArgv: ['--import', [3], {}, null],
	env: [null, 'A=1', { A: 1 }, { A: 'a\0b' }, { 'A=B': 'c' }, { '': 'c' }, []],
	concurrency: badIntegers,
	priority: [1.5, NaN, Infinity, '1', null],
	onBlockError: anyBad,
	onLayoutMismatch: anyBad,
};

for (const [name, values] of Object.entries(bad)) {
	test(`bad values of ${name} are refused by path`, (t) => {
		for (const value of values) {
			const { path, message } = refusal(t, { [name]: value });
			t.regex(path, new RegExp(`^${name}($|[.[])`), message);
			t.true(message.includes(name), message);
		}
	});
}

test('every option has bad values above', (t) => {
	const { message } = refusal(t, { banana: 1 });
	const known = message.split('known are ')[1]!.split(', ');
	t.deepEqual(known, Object.keys(bad).sort());
});

test('a missing option and options that are none are refused', (t) => {
	for (const name of ['taskId', 'totalRoi', 'readRoi', 'writeRoi']) {
		t.is(refusal(t, { [name]: undefined }).path, name);
	}
	for (const value of [undefined, null, 3, 'x', []]) {
		const error = t.throws(() => new Task(value as unknown as TaskOptions));
		t.true(isBellisError(error, 'ERR_BELLIS_VALIDATION'));
	}
});

test('an unknown option is refused with the nearest known name', (t) => {
	const meant: Record<string, string> = {
		timeout: 'timeoutMs',
		numWorkers: 'maxWorkers',
		num_workers: 'maxWorkers',
		processFn: 'processFunction',
		process_function: 'processFunction',
		read_write_conflict: 'readWriteConflict',
		doneMarkerPath: 'trackingPath',
		maxRetry: 'maxRetries',
		skipmask: 'skipMask',
		id: 'taskId',
	};
	for (const [name, known] of Object.entries(meant)) {
		const { path, message } = refusal(t, { [name]: 1 });
		t.is(path, name);
		t.true(message.includes(`did you mean ${known}?`), message);
	}
	t.regex(refusal(t, { upstreamTasks: [] }).message, /chain\(/);
});

test('Infinity as a timeout is refused with what to pass, and years are taken', (t) => {
	t.regex(refusal(t, { timeoutMs: Infinity }).message, /Number\.MAX_SAFE_INTEGER/);
	for (const timeoutMs of [0.5, 200, 30 * 24 * 3600 * 1000, Number.MAX_SAFE_INTEGER]) {
		t.is(task('a', { timeoutMs }).timeoutMs, timeoutMs);
	}
});

test('Panics for input: regions that make no sense are refused when the task is built', (t) => {
	const roi = (offset: number[], shape: number[]) => new Roi(offset, shape);
	const cases: [Record<string, unknown>, string][] = [
		[{ readRoi: roi([0], [0]) }, 'readRoi.shape[0]'],
		[{ writeRoi: roi([0], [0]) }, 'writeRoi.shape[0]'],
		[{ writeRoi: roi([-1], [10]) }, 'writeRoi'],
		[{ writeRoi: roi([0], [11]) }, 'writeRoi'],
		[{ readRoi: roi([0, 0], [10, 10]) }, 'readRoi'],
		[{ writeRoi: roi([0, 0], [10, 10]) }, 'writeRoi'],
		[{ totalRoi: roi([0, 0], [40, 40]) }, 'readRoi'],
		[{ grownFrom: roi([0, 0], [40, 40]) }, 'grownFrom'],
		[{ totalRoi: { offset: [0], shape: [-4] } }, 'totalRoi.shape[0]'],
		[{ totalRoi: { offset: ['0'], shape: [4] } }, 'totalRoi.offset[0]'],
		[
			{ totalRoi: { offset: new Array(12).fill(0), shape: new Array(12).fill(1) } },
			'totalRoi.offset',
		],
		[{ totalRoi: roi([Number.MAX_SAFE_INTEGER - 41], [41]), fit: 'overhang' }, 'totalRoi'],
	];
	for (const [options, path] of cases) t.is(refusal(t, options).path, path);
	t.deepEqual([...task('none', { totalRoi: roi([0], [0]) }).blockGridShape], [0]);
	t.deepEqual([...task('small', { totalRoi: roi([0], [3]) }).blockGridShape], [0]);
});

test('both functions at once are refused, none is fine', (t) => {
	const error = refusal(t, { processFunction: () => {}, workerFunction: () => {} });
	t.is(error.path, 'workerFunction');
	t.is(task('a').functionReference, null);
});

test('names that are safe are kept as they are', (t) => {
	for (const taskId of ['dummy:123', 'a=b', 'a b', '日本', 'x'.repeat(200), '...', '-rf', '%41']) {
		t.is(task(taskId).taskId, taskId);
	}
	t.regex(refusal(t, { taskId: 'a/b' }).message, /"\/"/);
});

test('a tracking path may be a file URL or false', (t) => {
	t.is(task('a', { trackingPath: pathToFileURL('/data/a b') }).trackingPath, '/data/a b');
	t.is(task('a', { trackingPath: './here' }).trackingPath, './here');
	t.is(task('a', { trackingPath: false }).trackingPath, false);
});

test('a worker function keeps its worker when a block fails, unless told otherwise', (t) => {
	const own = { workerFunction: new URL('./own.js', import.meta.url) };
	t.is(task('own', own).onBlockError, 'keep-worker');
	t.is(task('own', { ...own, onBlockError: 'restart-worker' }).onBlockError, 'restart-worker');
});
