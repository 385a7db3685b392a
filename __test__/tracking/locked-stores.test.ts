import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { StoreLockedError } from '../../src/errors.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { TrackingStore } from '../../src/tracking/tracking-store.js';
import { Driver } from '../end-to-end/driver.js';
import { fixture, gone, line, Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

test('two runs at once: the second is refused naming the first, in this process or another, and changes nothing', async (t) => {
	const scratch = new Scratch(t);
	const trackingDir = scratch.path('stores');
	const deeds = { 1: { do: 'gate', file: scratch.path('go') } };
	const driver = new Driver(t, scratch, { blocks: 2, deeds, task: { maxWorkers: 1 } });
	await scratch.made('go.waits.1');
	const options = { ...scratch.quiet, trackingDir };
	for (const multiprocessing of [true, false]) {
		const error = await t.throwsAsync<StoreLockedError>(
			runBlockwise(line(scratch, 2), { ...options, multiprocessing }),
			{ code: 'ERR_BELLIS_STORE_LOCKED' },
		);
		t.is(error!.path, scratch.path('stores/line'));
		t.true(error!.message.includes(`process ${driver.child.pid} on ${hostname()}`));
	}
	t.is(scratch.lines().length, 2);
	// what would change it is refused as well, and looking is allowed
	const task = line(scratch, 2);
	for (const reset of [{}, { failed: true }]) {
		await t.throwsAsync(task.reset({ ...reset, trackingDir }), {
			code: 'ERR_BELLIS_STORE_LOCKED',
		});
	}
	const status = await (await TrackingStore.open(scratch.path('stores/line'))).status();
	t.like(status.heldBy, { pid: driver.child.pid!, host: hostname() });
	const ended = driver.ended();
	scratch.open('go');
	t.is(await ended, 0);
	const { state, notices } = await observe(line(scratch, 2), options);
	t.is(state.skipped, 2);
	t.deepEqual(Object.keys(notices), ['resumed']);
});

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`a dead run's lock is taken over at once, with a notice: ${how}`, async (t) => {
		const scratch = new Scratch(t);
		const deeds = { 1: { do: 'gate', file: scratch.path('go') } };
		const driver = new Driver(t, scratch, { blocks: 2, deeds, task: { maxWorkers: 1 } });
		await scratch.made('go.waits.1');
		const ended = driver.ended();
		driver.signal('SIGKILL');
		t.is(await ended, 'SIGKILL');
		scratch.open('go');
		await gone(scratch.pids());
		t.like(JSON.parse(readFileSync(scratch.path('stores/line/bellis.lock'), 'utf8')), {
			pid: driver.child.pid!,
		});
		t.is((await line(scratch, 2).status({ trackingDir: scratch.path('stores') })).heldBy, null);
		const { state, notices } = await observe(line(scratch, 2), {
			...scratch.quiet,
			multiprocessing,
			trackingDir: scratch.path('stores'),
		});
		t.is(state.completed, 2);
		t.true(notices['lock-taken-over']!.includes(`process ${driver.child.pid} on ${hostname()}`));
	});
}

test('a run whose lock another took stops, marks nothing more and says so', async (t) => {
	const scratch = new Scratch(t);
	const lock = scratch.path('store/bellis.lock');
	const deeds = { 1: { do: 'gate', file: scratch.path('go') } };
	const task = line(scratch, 3, deeds, { trackingPath: scratch.path('store'), maxWorkers: 1 });
	const run = runBlockwise(task, scratch.quiet);
	await scratch.made('go.waits.1');
	const theirs = { ...JSON.parse(readFileSync(lock, 'utf8')), owner: 'another', pid: 1 };
	rmSync(lock);
	writeFileSync(lock, JSON.stringify(theirs));
	const outcome = t.throwsAsync(run, { code: 'ERR_BELLIS_STORE_LOCKED' });
	// the blocks may all be done before the next flush finds out; then the last one does
	scratch.open('go');
	const error = await outcome;
	t.regex(error!.message, /no longer this run's/);
	t.is(JSON.parse(readFileSync(lock, 'utf8')).owner, 'another', 'the lock of the other stays');
});

test('a run in another pid namespace is judged by the age of its lock', async (t) => {
	const unshare = ['--fork', '--pid', '--mount-proc', '--kill-child'];
	const { status, stderr, error } = spawnSync('unshare', [...unshare, 'true'], {
		encoding: 'utf8',
	});
	if (status !== 0) {
		t.log(`not checked, no pid namespace can be made here: ${error?.message ?? stderr.trim()}`);
		t.pass();
		return;
	}
	const scratch = new Scratch(t);
	const trackingDir = scratch.path('stores');
	const lock = scratch.path('stores/line/bellis.lock');
	const settings = {
		calls: scratch.calls,
		blocks: 2,
		deeds: { 1: { do: 'gate', file: scratch.path('go') } },
		task: { maxWorkers: 1 },
		run: { logDir: scratch.path('logs'), trackingDir },
	};
	const program = [process.execPath, fileURLToPath(fixture('driver.js')), JSON.stringify(settings)];
	const child = spawn('unshare', [...unshare, ...program], {
		stdio: 'ignore',
		env: { ...process.env, NODE_OPTIONS: '' },
	});
	t.teardown(() => child.kill('SIGKILL'));
	await scratch.made('go.waits.1');
	const run = () => observe(line(scratch, 2), { ...scratch.quiet, trackingDir });
	await t.throwsAsync(run(), { code: 'ERR_BELLIS_STORE_LOCKED', message: new RegExp(hostname()) });
	const exited = once(child, 'exit');
	child.kill('SIGKILL');
	await exited;
	// its process id means nothing here, and the lock is still young
	await t.throwsAsync(run(), { code: 'ERR_BELLIS_STORE_LOCKED' });
	const longAgo = Date.now() / 1000 - 120;
	utimesSync(lock, longAgo, longAgo);
	const { state, notices } = await run();
	t.deepEqual([state.completed, state.skipped], [2, 1]);
	t.regex(notices['lock-taken-over']!, /took over the lock of a run that has died/);
});
