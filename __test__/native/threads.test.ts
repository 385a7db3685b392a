import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import test from 'ava';

const binding = createRequire(import.meta.url).resolve('../../binding.cjs');

// Each thread loads the addon, makes a hot-call buffer and answers; `busy` goes on calling until it is ended.
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const binding = require(workerData.binding);
const shared = binding.sharedBuffer();
shared[0] = 42;
parentPort.postMessage(binding.sharedBuffer()[0]);
if (workerData.busy) for (;;) binding.debugPanic('sync');
`;

function start(busy: boolean): Worker {
	return new Worker(program, { eval: true, workerData: { binding, busy } });
}

function firstMessage(worker: Worker): Promise<unknown> {
	return new Promise((resolve, reject) => {
		worker.once('message', resolve);
		worker.once('error', reject);
	});
}

function exitCode(worker: Worker): Promise<number> {
	return new Promise((resolve) => worker.once('exit', resolve));
}

test('the addon loads in 50 threads one after another', async (t) => {
	for (let index = 0; index < 50; index += 1) {
		const worker = start(false);
		const ended = exitCode(worker);
		t.is(await firstMessage(worker), 42);
		t.is(await ended, 0);
	}
});

test('the addon loads in 8 threads at once, each with a buffer of its own', async (t) => {
	const workers = Array.from({ length: 8 }, () => start(false));
	const ended = workers.map(exitCode);
	t.deepEqual(await Promise.all(workers.map(firstMessage)), Array(8).fill(42));
	t.deepEqual(await Promise.all(ended), Array(8).fill(0));
});

test('threads ended in the middle of native calls do no harm', async (t) => {
	const workers = Array.from({ length: 8 }, () => start(true));
	await Promise.all(workers.map(firstMessage));
	t.deepEqual(await Promise.all(workers.map((worker) => worker.terminate())), Array(8).fill(1));
	const after = start(false);
	t.is(await firstMessage(after), 42);
});
