import test, { type ExecutionContext } from 'ava';
import { isBellisError, type ValidationError } from '../../src/errors.js';
import { readRunOptions } from '../../src/run/options.js';
import { setLogDir, setLogMode, setTrackingDir } from '../../src/settings.js';

function refusal(t: ExecutionContext, options: unknown): ValidationError {
	const error = t.throws(() => readRunOptions(options));
	if (!isBellisError(error, 'ERR_BELLIS_VALIDATION')) throw error ?? new Error('not refused');
	return error;
}

test.serial('defaults are filled in', (t) => {
	t.deepEqual(readRunOptions(), {
		resources: {},
		multiprocessing: true,
		blockTracking: true,
		trackingDir: null,
		logDir: './bellis_logs',
		logMode: 'file',
		progress: true,
		summary: true,
		host: undefined,
		signal: undefined,
		order: 'levels',
		maxFailures: undefined,
		failFast: false,
		shutdownGraceMs: 5000,
		failuresShown: 1,
		returnStates: false,
	});
});

const bad: Record<string, readonly unknown[]> = {
	resources: [null, 'gpu', [], { gpu: -1 }, { gpu: 0.5 }],
	multiprocessing: [null, 1, 'no'],
	blockTracking: [null, 0],
	trackingDir: ['', 3, true, 'a\0b', new URL('https://a/b')],
	logDir: ['', 3, true, false],
	logMode: ['files', null, true],
	progress: [null, 1, 'bars', {}, [], { onStart: 3 }, () => {}],
	summary: [null, 1],
	host: ['', 3, null, 'a b'],
	signal: [null, {}, true, new AbortController()],
	order: ['depth', null, true],
	maxFailures: [0, -1, 1.5, NaN, '1', null],
	failFast: [null, 1],
	shutdownGraceMs: [-1, NaN, Infinity, '5', null],
	failuresShown: [-1, 1.5, NaN, '1', null],
	returnStates: [null, 1, 'yes'],
};

for (const [name, values] of Object.entries(bad)) {
	test(`bad values of ${name} are refused by path`, (t) => {
		for (const value of values) {
			const { path, message } = refusal(t, { [name]: value });
			t.regex(path, new RegExp(`^${name}($|\\.)`), message);
		}
	});
}

test('every option has bad values above', (t) => {
	const { message } = refusal(t, { banana: 1 });
	t.deepEqual(message.split('known are ')[1]!.split(', '), Object.keys(bad).sort());
});

test('unknown options are refused with the nearest name, and options that are none', (t) => {
	t.regex(refusal(t, { return_states: true }).message, /did you mean returnStates\?/);
	t.regex(refusal(t, { resource: {} }).message, /did you mean resources\?/);
	t.regex(refusal(t, { maxWorkers: 3 }).message, /option of each task/);
	for (const options of [null, 3, []]) t.is(refusal(t, options).path, 'options');
});

test.serial('directories and log mode of the process hold unless a run has its own', (t) => {
	try {
		setTrackingDir('/data/tracking');
		setLogDir(null);
		setLogMode('both');
		t.like(readRunOptions({}), { trackingDir: '/data/tracking', logDir: null, logMode: 'both' });
		t.like(readRunOptions({ trackingDir: null, logDir: '/logs', logMode: 'none' }), {
			trackingDir: null,
			logDir: '/logs',
			logMode: 'none',
		});
	} finally {
		setTrackingDir(null);
		setLogDir('./bellis_logs');
		setLogMode('file');
	}
	for (const [set, value] of [
		[setTrackingDir, ''],
		[setLogDir, 3],
		[setLogMode, 'loud'],
	] as const) {
		t.throws(() => (set as (value: unknown) => void)(value), { code: 'ERR_BELLIS_VALIDATION' });
	}
});
