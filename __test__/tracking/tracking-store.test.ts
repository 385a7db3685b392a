import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { Block } from '../../src/block.js';
import { Roi } from '../../src/geometry/roi.js';
import { runsAppend } from '../../src/native-tracking.js';
import { chain } from '../../src/pipeline.js';
import { distributionOf } from '../../src/report/distribution.js';
import { setLogDir, setTrackingDir } from '../../src/settings.js';
import { Task } from '../../src/task/task.js';
import { formatRunRecord } from '../../src/tracking/run-record.js';
import { TrackingStore } from '../../src/tracking/tracking-store.js';
import { task } from '../task/tasks.js';
import type { VectorTask } from '../vectors-read.js';

interface StoreCase extends VectorTask {
	store: string;
	resource_tracking: boolean;
	hash: string;
	grid_shape: number[];
	cells: [number, number[]][];
	done: number[];
	failures: Record<string, number>;
	values?: Record<string, Record<string, number | string>>;
}

const stores = fileURLToPath(new URL('../vectors/stores/', import.meta.url));
const cases: StoreCase[] = JSON.parse(readFileSync(join(stores, 'expected.json'), 'utf8'));

function taskOf(line: StoreCase, trackingPath: string): Task {
	const roi = ([offset, shape]: VectorTask['total']) =>
		new Roi(offset.map(BigInt), shape.map(BigInt));
	return new Task({
		taskId: line.store,
		totalRoi: roi(line.total),
		readRoi: roi(line.read),
		writeRoi: roi(line.write),
		fit: line.fit,
		readWriteConflict: line.conflict,
		trackingPath,
	});
}

async function folder(t: ExecutionContext): Promise<string> {
	const path = await mkdtemp(join(tmpdir(), 'bellis-'));
	t.teardown(() => rm(path, { recursive: true, force: true }));
	return path;
}

function blocksOf({ geometry }: Task): Block[] {
	return Array.from({ length: Number(geometry.blockCount) }, (_, i) => Block.at(geometry, i));
}

for (const line of cases) {
	test(`the store ${line.store} of daisy's is read as it was written`, async (t) => {
		const made = taskOf(line, join(stores, line.store));
		t.is(made.layoutHash, line.hash);
		const failedIds = Object.keys(line.failures).filter((id) => !line.done.includes(Number(id)));
		t.like(await made.status(), {
			exists: true,
			blocks: line.cells.length,
			done: line.done.length,
			failed: failedIds.length,
			hasResources: line.resource_tracking,
			layoutHash: line.hash,
			heldBy: null,
		});
		const failed = await made.failedBlocks();
		t.deepEqual(
			failed.map(({ id, attempts }) => [id, attempts]),
			failedIds.map((id) => [`${line.store}/${id}`, line.failures[id]!]),
		);
		const cells = new Map(line.cells.map(([id, cell]) => [BigInt(id), cell]));
		for (const block of blocksOf(made))
			t.deepEqual([...made.cellOf(block)], cells.get(block.number));
	});
}

test('a store without a known layout gives cells in place of blocks', async (t) => {
	const line = cases.find(({ failures }) => Object.keys(failures).length > 0)!;
	const store = await TrackingStore.open(join(stores, line.store));
	t.like(await store.status(), { exists: true, blocks: null, done: line.done.length });
	const [failed] = await store.failedBlocks();
	t.like(failed, { id: null, block: null });
	const [id] = Object.keys(line.failures);
	t.deepEqual([...failed!.cell], line.cells.find(([number]) => `${number}` === id)![1]);
});

test('opening what is no store rejects', async (t) => {
	const path = await folder(t);
	await t.throwsAsync(TrackingStore.open(join(path, 'none')), { code: 'ERR_BELLIS_STORE' });
	await writeFile(join(path, 'readme'), 'mine');
	await t.throwsAsync(TrackingStore.open(path), { code: 'ERR_BELLIS_STORE' });
	await t.throwsAsync(TrackingStore.open(''), { code: 'ERR_BELLIS_VALIDATION' });
});

test('reset removes a store and nothing else, and says where it was', async (t) => {
	const path = join(await folder(t), 'complete-1d');
	await cp(join(stores, 'complete-1d'), path, { recursive: true });
	const made = taskOf(cases.find(({ store }) => store === 'complete-1d')!, path);
	t.is(await made.reset(), path);
	t.false(existsSync(path));
	t.is(await made.reset(), null);
	t.like(await made.status(), { exists: false, blocks: 8, done: 0, failed: 0 });
	t.deepEqual(await made.failedBlocks(), []);
	await mkdir(path);
	await writeFile(join(path, 'thesis.md'), 'years of work');
	await t.throwsAsync(made.reset(), { code: 'ERR_BELLIS_STORE' });
	t.is(await readFile(join(path, 'thesis.md'), 'utf8'), 'years of work');
});

test('reset of failures only keeps what is done', async (t) => {
	const name = 'failed-for-good-2d';
	const path = join(await folder(t), name);
	await cp(join(stores, name), path, { recursive: true });
	const made = taskOf(cases.find(({ store }) => store === name)!, path);
	t.is((await made.failedBlocks()).length, 1);
	t.is(await made.reset({ failed: true }), path);
	t.like(await made.status(), { done: 8, failed: 0, failedAttempts: 0 });
	await rm(path, { recursive: true });
	t.is(await made.reset({ failed: true }), null);
});

test('a store of another layout is refused with the path to delete', async (t) => {
	const made = task('other', { trackingPath: join(stores, 'complete-1d') });
	for (const call of [made.status(), made.failedBlocks()]) {
		const error = await t.throwsAsync(call, { code: 'ERR_BELLIS_LAYOUT_MISMATCH' });
		t.true(error!.message.includes(join(stores, 'complete-1d')));
	}
});

test.serial('without a place for a store the calls reject', async (t) => {
	for (const made of [task('a'), task('a', { trackingPath: false })]) {
		for (const call of [made.reset(), made.status(), made.failedBlocks()]) {
			await t.throwsAsync(call, { code: 'ERR_BELLIS_NO_TRACKING_PATH' });
		}
	}
	const path = await folder(t);
	t.is((await task('a').status({ trackingDir: path })).path, join(path, 'a'));
	setTrackingDir(path);
	try {
		t.is((await task('a').status()).path, join(path, 'a'));
		t.is((await task('a', { trackingPath: '/data/x' }).status()).path, '/data/x');
		await t.throwsAsync(task('a', { trackingPath: false }).status(), {
			code: 'ERR_BELLIS_NO_TRACKING_PATH',
		});
		await t.throwsAsync(task('a').status({ trackingDir: null }), {
			code: 'ERR_BELLIS_NO_TRACKING_PATH',
		});
	} finally {
		setTrackingDir(null);
	}
	await t.throwsAsync(task('a').reset({ fail: true } as never), {
		message: /did you mean failed\?/,
	});
});

test('a pipeline resets each task by itself', async (t) => {
	const path = await folder(t);
	await cp(join(stores, 'complete-1d'), join(path, 'complete-1d'), { recursive: true });
	const made = taskOf(
		cases.find(({ store }) => store === 'complete-1d')!,
		join(path, 'complete-1d'),
	);
	const tracked = chain(task('none', { trackingPath: join(path, 'none') }), made);
	t.deepEqual(await tracked.reset(), { none: null, 'complete-1d': join(path, 'complete-1d') });
	t.deepEqual(await readdir(path), []);
	await t.throwsAsync(chain(task('b', { trackingPath: false }), made).reset(), {
		code: 'ERR_BELLIS_NO_TRACKING_PATH',
	});
});

const record = (taskId: string, runId: string) =>
	formatRunRecord(
		{
			taskId,
			total: 8,
			ready: 0,
			pending: 0,
			processing: 0,
			completed: 8,
			skipped: 0,
			failed: 0,
			orphaned: 0,
			abandonReason: null,
			workerStarts: 1,
			workerRestarts: 0,
			workerFailures: 0,
			failedAttempts: 0,
			timeouts: 0,
			timeoutMs: 1,
			timeoutIsDefault: false,
			checkErrors: 0,
			failures: [],
			wallSeconds: 1,
			roundTrip: distributionOf([1]),
			workers: [],
			resources: null,
			logDir: null,
		},
		{ runId, startedAt: 1, finishedAt: 2, interrupted: null },
	);

test('a report is read from the store, and a block record with it', async (t) => {
	const name = 'negative-offsets-shrink-3d-resources';
	const line = cases.find(({ store }) => store === name)!;
	const path = join(await folder(t), name);
	await cp(join(stores, name), path, { recursive: true });
	const made = taskOf(line, path);
	await t.throwsAsync(made.report({ logDir: null }), {
		code: 'ERR_BELLIS_STORE',
		message: /no run is recorded/,
	});
	await runsAppend(path, record(name, 'first'));
	await runsAppend(path, record(name, 'second'));
	const report = await made.report();
	t.is(report.runId, 'second');
	t.is(report.earlier[0]?.runId, 'first');
	for (const block of blocksOf(made)) {
		const stored = await report.block(block);
		const values = line.values?.[String(block.number)];
		t.is(stored?.done, line.done.includes(Number(block.number)));
		t.is(stored?.peakRssBytes ?? null, values ? Number(values.peak_rss_bytes) : null);
		t.is(stored?.wallSeconds ?? null, values ? Number(values.wall_seconds) : null);
		t.like(stored, { workerId: null, sentAt: null, returnedAt: null });
	}
	const opened = await (await TrackingStore.open(path)).report();
	t.is(opened.runId, 'second');
	t.is(
		(await opened.block(blocksOf(made)[0]!))?.done,
		(await report.block(blocksOf(made)[0]!))?.done,
	);
});

test.serial('a report is read beside the logs when there is no store', async (t) => {
	const logDir = await folder(t);
	const made = task('logged', { trackingPath: false });
	await t.throwsAsync(made.report({ logDir }), { code: 'ERR_BELLIS_STORE' });
	await mkdir(join(logDir, 'logged'));
	await runsAppend(join(logDir, 'logged'), record('logged', 'r'));
	const report = await made.report({ logDir });
	t.is(report.runId, 'r');
	t.is(await report.block(blocksOf(made)[0]!), null);
	setLogDir(logDir);
	try {
		t.is((await made.report()).runId, 'r');
		setLogDir(null);
		await t.throwsAsync(made.report(), { code: 'ERR_BELLIS_NO_TRACKING_PATH' });
	} finally {
		setLogDir('./bellis_logs');
	}
});
