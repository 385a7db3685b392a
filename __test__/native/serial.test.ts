import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import {
	MORE_TO_SKIP,
	serialBegin,
	serialChecked,
	serialEnd,
	serialFail,
	serialGiveBack,
	serialProfileEnd,
	serialProfileStart,
	serialRelease,
	serialStart,
	serialStates,
	serialTake,
} from '../../src/native-serial.js';
import { storeStatus } from '../../src/native-tracking.js';
import { configFor } from './run-config.js';

const onPurpose = { name: 'Error', message: 'on purpose', stack: null, details: null };

/** Runs all blocks that are ready, and gives their indices. */
function runAll(handle: number): number[] {
	const done: number[] = [];
	for (let block = serialTake(handle, 0); block >= 0; block = serialTake(handle, 0)) {
		serialBegin(handle, 0, block);
		serialRelease(handle, 0, block);
		done.push(block);
	}
	return done;
}

test('blocks are taken and given back one after another', async (t) => {
	const handle = await serialStart(configFor());
	t.deepEqual(runAll(handle), [0, 1, 2, 3]);
	t.like(serialStates(handle)[0], { completed: 4, done: true, started: true, workerStarts: 0 });
	const result = await serialEnd(handle, 'finished');
	t.is(result.outcome, 'finished');
	t.is(result.reports[0]?.roundTrip.count, 4);
	t.is(result.reports[0]?.resources, null);
	t.throws(() => serialTake(handle, 0), { code: 'ERR_BELLIS_NATIVE' });
	await t.throwsAsync(serialEnd(handle, 'finished'), { code: 'ERR_BELLIS_NATIVE' });
});

test('a failed block has no second attempt and stops nobody but those that need it', async (t) => {
	const handle = await serialStart(configFor({ maxRetries: 5 }));
	const first = serialTake(handle, 0);
	serialBegin(handle, 0, first);
	serialFail(handle, 0, first, onPurpose);
	const second = serialTake(handle, 0);
	serialGiveBack(handle, 0, second);
	t.is(serialTake(handle, 0), second);
	const { states, failures } = await serialEnd(handle, 'failed');
	t.like(states[0], { failed: 1, failedAttempts: 1, processing: 1, ready: 2 });
	t.true(states[0]?.firstError?.includes('on purpose'));
	t.like(failures[0]?.[0], { block: first, worker: null, attempt: 1, permanent: true });
});

test.serial(
	'many blocks are skipped in pieces, in all tasks, before the next one comes',
	async (t) => {
		const blocks = 1_000_000;
		const skipMask = new Uint8Array(blocks).fill(1);
		skipMask[blocks - 1] = 0;
		const totalRoi = new Roi([-1], [10 * blocks + 2]);
		const handle = await serialStart(
			configFor({ skipMask, totalRoi, readRoi: new Roi([-1], [12]) }),
		);
		let calls = 0;
		let block = MORE_TO_SKIP;
		for (; block === MORE_TO_SKIP; calls++) block = serialTake(handle, 0);
		t.true(calls > 10);
		t.is(block, blocks - 1);
		// its neighbour waits for it
		t.like(serialStates(handle)[0], {
			skipped: blocks - 2,
			processing: 1,
			pending: 1,
			started: true,
		});
		await serialEnd(handle, 'interrupted');
	},
);

test('stores remember what was done, checked and measured', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-serial-'));
	t.teardown(() => rmSync(folder, { recursive: true }));
	const trackingPath = join(folder, 'store');
	const config = configFor(
		{ checkFunction: () => false },
		{ trackingPath, resourceTracking: true },
	);
	const handle = await serialStart(config);
	const checked = serialTake(handle, 0);
	serialChecked(handle, 0, checked, 1);
	const odd = serialTake(handle, 0);
	serialChecked(handle, 0, odd, 2);
	serialBegin(handle, 0, odd);
	serialProfileStart(handle);
	serialProfileEnd(handle);
	const stats = serialRelease(handle, 0, odd);
	t.true(stats!.wallSeconds >= 0 && stats!.wallSeconds < 1);
	t.like(serialStates(handle)[0], { completed: 2, skipped: 1, checkErrors: 1 });
	const first = await serialEnd(handle, 'interrupted');
	t.is(first.reports[0]?.resources?.measured, 1);
	t.like(await storeStatus(trackingPath, config.tasks[0]!.spec), {
		done: 2,
		failed: 0,
		heldBy: null,
		hasResources: true,
	});

	const again = await serialStart(config);
	await t.throwsAsync(serialStart(config), { code: 'ERR_BELLIS_STORE_LOCKED' });
	t.deepEqual(runAll(again), [2, 3]);
	const second = await serialEnd(again, 'finished');
	t.like(second.states[0], { completed: 4, skipped: 2 });
	t.is((await storeStatus(trackingPath, null))?.done, 4);
});
