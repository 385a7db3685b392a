import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Block } from '../../src/block.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { line, Scratch } from './scratch.js';

for (const multiprocessing of [true, false]) {
	const how = multiprocessing ? 'with workers' : 'in serial mode';

	test(`a task's report tells what its last run did (${how})`, async (t) => {
		const scratch = new Scratch(t);
		const options = { ...scratch.quiet, multiprocessing, trackingDir: scratch.path('stores') };
		const task = line(scratch, 4, { all: { do: 'sleepSync', ms: 5 } }, { resourceTracking: true });
		t.true(await runBlockwise(task, options));
		t.true(await runBlockwise(task, options));
		const lines = readFileSync(scratch.path('stores/line/runs.jsonl'), 'utf8')
			.trimEnd()
			.split('\n');
		t.is(lines.length, 2);
		const report = await task.report({ trackingDir: scratch.path('stores') });
		t.deepEqual(
			[report.blocks.completed, report.blocks.skipped, report.roundTrip.count],
			[4, 4, 0],
		);
		const [first] = report.earlier;
		t.deepEqual([first!.blocks.executed, first!.roundTrip.count], [4, 4]);
		t.true(first!.roundTrip.mean >= 0.005);
		t.is(first!.resources!.wallSeconds.count, 4);
		t.true(first!.resources!.wallSeconds.mean >= 0.005);
	});
}

test('each block keeps its worker and its times where the task is measured', async (t) => {
	const scratch = new Scratch(t);
	const trackingDir = scratch.path('stores');
	const before = Date.now() / 1000;
	const deeds = { all: { do: 'sleepSync', ms: 20 } };
	const task = line(scratch, 3, deeds, { resourceTracking: true, maxWorkers: 1 });
	const blocks: Block[] = [];
	const check = line(scratch, 3, {}, { checkFunction: (block) => blocks.push(block) < 0 });
	t.true(
		await runBlockwise(check, { ...scratch.quiet, multiprocessing: false, blockTracking: false }),
	);
	t.true(await runBlockwise(task, { ...scratch.quiet, trackingDir }));
	const after = Date.now() / 1000;
	const report = await task.report({ trackingDir });
	for (const block of blocks) {
		const record = (await report.block(block))!;
		t.is(record.workerId, 0);
		t.true(record.sentAt! >= before && record.returnedAt! <= after);
		t.true(record.returnedAt! - record.sentAt! >= 0.019);
		t.true(record.wallSeconds! >= 0.019 && record.wallSeconds! < 1);
		t.true(record.peakRssBytes! > 1e6);
	}
});
