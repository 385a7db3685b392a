import test from 'ava';
import { exitCodeOf, type StopSignal, watchStopSignals } from '../../src/run/signals.js';
import { StopRequest } from '../../src/run/stop-request.js';

/** Lets a signal that was raised reach its listeners. */
async function raise(signal: StopSignal): Promise<void> {
	// a listener for signals alone doesn't keep a process alive
	const alive = setInterval(() => {}, 1000);
	const seen = new Promise((resolve) => process.once(signal, resolve));
	process.kill(process.pid, signal);
	await seen;
	clearInterval(alive);
}

test.serial(
	'two runs share one listener, and earlier listeners come back with the end of the last',
	async (t) => {
		const log: string[] = [];
		const mine = () => log.push('mine');
		process.on('SIGHUP', mine);
		t.teardown(() => process.removeListener('SIGHUP', mine));
		const before = process.listeners('SIGHUP');

		const endFirst = watchStopSignals((signal) => log.push(`first ${signal}`));
		const endSecond = watchStopSignals((signal) => log.push(`second ${signal}`));
		t.is(process.listenerCount('SIGHUP'), 1);
		await raise('SIGHUP');
		t.deepEqual(log, ['first SIGHUP', 'second SIGHUP']);

		endFirst();
		endFirst();
		await raise('SIGHUP');
		t.deepEqual(log.slice(2), ['second SIGHUP']);

		endSecond();
		t.deepEqual(process.listeners('SIGHUP'), before);
		await raise('SIGHUP');
		t.deepEqual(log.slice(3), ['mine']);
	},
);

test.serial('a listener for one time stays one', async (t) => {
	let times = 0;
	process.once('SIGHUP', () => times++);
	watchStopSignals(() => {})();
	t.is(process.listenerCount('SIGHUP'), 1);
	await raise('SIGHUP');
	t.is(times, 1);
	t.is(process.listenerCount('SIGHUP'), 0);
});

test('exit codes are those of a shell', (t) => {
	t.deepEqual((['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(exitCodeOf), [130, 143, 129]);
});

test('two signals within a second are one, a later one kills', (t) => {
	let now = 0;
	const stop = new StopRequest(() => now);
	t.is(stop.onSignal('SIGINT'), 'stop');
	now = 5;
	t.is(stop.onSignal('SIGTERM'), null);
	now = 1000;
	t.is(stop.onSignal('SIGTERM'), 'kill');
	t.is(stop.onSignal('SIGTERM'), null);
	t.is(stop.signal, 'SIGINT');
	t.false(stop.aborted);
});

test('an abort stops once, a signal after it kills', (t) => {
	let now = 0;
	const stop = new StopRequest(() => now);
	t.is(stop.onAbort(), 'stop');
	t.is(stop.onAbort(), null);
	now = 2000;
	t.is(stop.onSignal('SIGINT'), 'kill');
	t.true(stop.aborted);
	t.is(stop.signal, null);
});
