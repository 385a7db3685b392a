import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { fixture, line, Scratch } from '../end-to-end/scratch.js';

const execute = promisify(execFile);

async function readLater(argument: Record<string, unknown>) {
	const program = fileURLToPath(fixture('reads-report.js'));
	const env = { ...process.env, NODE_OPTIONS: '' };
	const { stdout } = await execute(process.execPath, [program, JSON.stringify(argument)], { env });
	return JSON.parse(stdout);
}

test('a later process reads the report: means, workers by number and each block', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const deeds = { all: { do: 'sleepSync', ms: 20 }, 3: { do: 'throw', once: true } };
	const more = { trackingPath, resourceTracking: true, maxWorkers: 2 };
	t.true(await runBlockwise(line(scratch, 6, deeds, more), scratch.quiet));
	const [written] = readFileSync(`${trackingPath}/runs.jsonl`, 'utf8').trimEnd().split('\n');
	const read = await readLater({ trackingPath, logDir: scratch.path('logs'), blocks: 6 });
	t.deepEqual(read.json, JSON.parse(written!));
	t.deepEqual(read.byPath, read.json);
	t.like(read.blocks, { total: 6, completed: 6, executed: 6, failedAttempts: 1, failed: 0 });
	t.is(read.wall.count, 6);
	t.true(read.wall.mean >= 0.016 && read.wall.mean < 1 && read.wall.std >= 0);
	// the worker that threw was replaced
	t.true(read.ids.length >= 2 && read.ids.length <= 3);
	t.is(read.nobody, null);
	const workers: { workerId: number; blocks: number; compute: { count: number } }[] = read.workers;
	t.is(
		workers.reduce((sum, { blocks }) => sum + blocks, 0),
		7,
	);
	t.deepEqual(
		workers.map(({ workerId }) => workerId),
		read.ids,
	);
	t.is(read.json.workers.exits.error, 1);
	for (const [at, record] of read.records.entries()) {
		t.like(record, { done: true, failures: at === 3 ? 1 : 0 });
		t.true(read.ids.includes(record.workerId));
		t.true(record.returnedAt >= record.sentAt);
		t.true(record.ioReadBytes !== null && record.peakRssBytes > 1e6);
	}
});

test('a task without a store leaves its report beside the logs of its workers', async (t) => {
	const scratch = new Scratch(t);
	t.true(await runBlockwise(line(scratch, 2), scratch.quiet));
	t.true(existsSync(scratch.path('logs/line/runs.jsonl')));
	const read = await readLater({ trackingPath: null, logDir: scratch.path('logs'), blocks: 2 });
	t.like(read.blocks, { completed: 2, executed: 2 });
	t.deepEqual(read.records, [null, null]);
	t.deepEqual(read.json.resources, null);
});
