import test from 'ava';
import { Context } from '../../src/context.js';
import type { NativeRunConfig, NativeRunEvent, NativeRunResult } from '../../src/native.js';
import {
	clientClose,
	clientConnect,
	clientFail,
	clientFinish,
	clientNew,
	clientTake,
	clientWait,
	NO_BLOCK,
} from '../../src/native-client.js';
import {
	type NativeRun,
	runAbort,
	runChecked,
	runFree,
	runInterrupt,
	runSnapshot,
	runStart,
	runStartFailed,
	runWorkerExited,
	runWorkerStarted,
} from '../../src/native-run.js';
import { configFor } from './run-config.js';

/** A run whose events are collected, with what they wait for. */
class Recorded {
	readonly events: NativeRunEvent[] = [];
	readonly finished: Promise<NativeRunResult>;
	native: NativeRun | undefined;
	readonly #waiting: { kind: string; resolve: (event: NativeRunEvent) => void }[] = [];

	private constructor() {
		this.finished = this.next('finished').then((event) => {
			if (event.kind !== 'finished') throw new Error('not the end');
			return event.result;
		});
	}

	static async start(config: NativeRunConfig): Promise<Recorded> {
		const run = new Recorded();
		run.native = await runStart(config, (event) => run.#on(event));
		return run;
	}

	/** The next event of a kind, or the first if there was one already. */
	next(kind: NativeRunEvent['kind']): Promise<NativeRunEvent> {
		const seen = this.events.find((event) => event.kind === kind);
		if (seen) return Promise.resolve(seen);
		return new Promise((resolve) => this.#waiting.push({ kind, resolve }));
	}

	context(workerId: number): string {
		const { host, port, secret, secretFile, machine } = this.native!;
		return Context.of({
			hostname: host,
			port,
			secret,
			connectionFile: secretFile,
			machine,
			taskId: 'four',
			workerId,
			logDir: null,
			resourceTracking: false,
		} as Parameters<typeof Context.of>[0]).toSecretText();
	}

	#on(event: NativeRunEvent): void {
		this.events.push(event);
		for (const waiter of this.#waiting.filter(({ kind }) => kind === event.kind)) {
			this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
			waiter.resolve(event);
		}
	}
}

/** Works in this process until there are no more blocks; `work` may throw. */
async function worker(context: string, work: (block: number) => void): Promise<number[]> {
	const client = clientNew({ context, exitWhenGone: false });
	const done: number[] = [];
	const welcome = await clientConnect(client);
	if (welcome === null) throw new Error('no driver');
	for (;;) {
		const block = clientTake(client);
		if (block === NO_BLOCK) await clientWait(client);
		else if (block < 0) break;
		else {
			done.push(block);
			try {
				work(block);
				clientFinish(client, block);
			} catch (error) {
				const { name, message } = error as Error;
				clientFail(client, block, { name, message, stack: null, details: null });
			}
		}
	}
	await clientClose(client);
	return done;
}

const cleanExit = {
	code: 0,
	signal: null,
	reason: '',
	stderrTail: '',
	stopped: false,
	clean: true,
};

test('a run grants its blocks to a worker and ends with everything done', async (t) => {
	const run = await Recorded.start(configFor({ readWriteConflict: false }));
	const { handle } = run.native!;
	t.deepEqual(await run.next('startWorker'), { kind: 'startWorker', task: 0, worker: 0 });
	runWorkerStarted(handle, 0, { pid: null, tracksExit: true, description: 'this process' });
	const done = await worker(run.context(0), () => {});
	runWorkerExited(handle, 0, cleanExit);
	const result = await run.finished;
	t.deepEqual(done, [0, 1, 2, 3]);
	t.is(result.outcome, 'finished');
	t.is(result.states[0]?.completed, 4);
	t.is(result.states[0]?.workerStarts, 1);
	t.is(result.reports[0]?.roundTrip.count, 4);
	t.is(result.reports[0]?.workers[0]?.exit, 'clean');
	t.is(run.events.at(-1)?.kind, 'finished');
	t.is(runSnapshot(handle)?.tasks.length, 1);
	runFree(handle);
	t.throws(() => runSnapshot(handle), { code: 'ERR_BELLIS_NATIVE' });
});

test('a block that fails is tried again, told, and kept when it has failed for good', async (t) => {
	const run = await Recorded.start(configFor({ maxRetries: 1 }));
	const { handle } = run.native!;
	await run.next('startWorker');
	runWorkerStarted(handle, 0, { pid: null, tracksExit: true, description: 'this process' });
	const done = await worker(run.context(0), (block) => {
		if (block === 2) throw new TypeError('on purpose');
	});
	runWorkerExited(handle, 0, cleanExit);
	const result = await run.finished;
	t.deepEqual(done, [0, 1, 2, 3, 2]);
	t.is(result.states[0]?.failed, 1);
	t.is(result.states[0]?.completed, 3);
	t.is(result.states[0]?.failedAttempts, 2);
	t.is(result.failures[0]?.length, 1);
	t.like(result.failures[0]?.[0], {
		block: 2,
		worker: 0,
		attempt: 2,
		permanent: true,
		kind: 'error',
	});
	t.like(result.failures[0]?.[0]?.error, { name: 'TypeError', message: 'on purpose' });
	const told = run.events.filter(({ kind }) => kind === 'failure');
	t.is(told.length, 2);
	t.true(result.states[0]?.firstError?.includes('on purpose'));
	runFree(handle);
});

test('a masked task ends at once and starts nobody', async (t) => {
	const run = await Recorded.start(configFor({ skipMask: Uint8Array.of(1, 1, 1, 1) }));
	const result = await run.finished;
	t.is(result.states[0]?.skipped, 4);
	t.false(run.events.some(({ kind }) => kind === 'startWorker'));
	runFree(run.native!.handle);
});

test('check functions are asked in a batch and their answers count', async (t) => {
	const run = await Recorded.start(configFor({ checkFunction: () => true }));
	const { handle } = run.native!;
	const asked = await run.next('check');
	t.true(asked.kind === 'check' && asked.blocks.length === 4);
	const error = { name: 'Error', message: 'odd', stack: null, details: null };
	runChecked(handle, 0, Uint8Array.of(1, 0, 2, 1), error);
	await run.next('startWorker');
	runWorkerStarted(handle, 0, { pid: null, tracksExit: true, description: 'this process' });
	t.deepEqual(await worker(run.context(0), () => {}), [1, 2]);
	runWorkerExited(handle, 0, cleanExit);
	const result = await run.finished;
	t.like(result.states[0], { completed: 4, skipped: 2, checkErrors: 1 });
	const notice = run.events.find(({ kind }) => kind === 'notice');
	t.true(notice?.kind === 'notice' && notice.message.includes('odd'));
	runFree(handle);
});

test('a launcher that cannot start anybody leads to an abandoned task', async (t) => {
	const config = configFor({ maxWorkers: 1, maxWorkerRestarts: 1 });
	const run = await Recorded.start(config);
	const { handle } = run.native!;
	for (const workerId of [0, 1]) {
		while (!run.events.some((event) => event.kind === 'startWorker' && event.worker === workerId)) {
			await new Promise((resolve) => setImmediate(resolve));
		}
		runStartFailed(handle, workerId, { message: 'no such queue', fatal: false, code: null });
	}
	const result = await run.finished;
	t.like(result.states[0], { abandoned: true, orphaned: 4, workerStarts: 2 });
	t.true(result.states[0]?.lastError?.includes('no such queue'));
	runFree(handle);
});

test('an interrupt ends a run in order, an abort at once', async (t) => {
	for (const stop of [(handle: number) => runInterrupt(handle, 'SIGINT'), runAbort]) {
		const run = await Recorded.start(configFor());
		await run.next('startWorker');
		const { handle } = run.native!;
		runStartFailed(handle, 0, { message: 'not any more', fatal: false, code: null });
		stop(handle);
		const result = await run.finished;
		t.is(result.outcome, 'interrupted');
		runFree(handle);
	}
});

test('a start that can never succeed ends the run with its error', async (t) => {
	const run = await Recorded.start(configFor());
	await run.next('startWorker');
	const { handle } = run.native!;
	runStartFailed(handle, 0, { message: 'no such module', fatal: true, code: 'ERR_BELLIS_MODULE' });
	runStartFailed(handle, 0, { message: 'no such module', fatal: false, code: null });
	const result = await run.finished;
	t.is(result.outcome, 'failed');
	t.like(result.error, { code: 'ERR_BELLIS_MODULE', message: 'no such module' });
	runFree(handle);
});

test('what cannot begin is refused and leaves nothing open', async (t) => {
	await t.throwsAsync(
		runStart({ ...configFor(), host: 'no such host.invalid' }, () => {}),
		{
			code: 'ERR_BELLIS_CONNECTION',
		},
	);
	const needy = configFor({}, { requires: { gpu: 1 } });
	await t.throwsAsync(
		runStart(needy, () => {}),
		{ code: 'ERR_BELLIS_VALIDATION' },
	);
});

test('a run that is freed while it goes on ends', async (t) => {
	const run = await Recorded.start(configFor());
	await run.next('startWorker');
	runFree(run.native!.handle);
	t.is((await run.finished).outcome, 'interrupted');
});
