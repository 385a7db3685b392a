import { readFileSync } from 'node:fs';
import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { chain } from '../../src/pipeline.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { fixture, line, Scratch } from './scratch.js';

const says = { module: fixture('noop.js'), export: 'says' };

for (const ms of [0, 1]) {
	test(`no two blocks that touch each other's regions are ever open together, with blocks of ${ms} ms`, async (t) => {
		const scratch = new Scratch(t);
		const side = 8;
		const task = line(
			scratch,
			0,
			{},
			{
				totalRoi: new Roi([-1, -1, -1], [4 * side + 2, 4 * side + 2, 4 * side + 2]),
				readRoi: new Roi([-1, -1, -1], [6, 6, 6]),
				writeRoi: new Roi([0, 0, 0], [4, 4, 4]),
				readWriteConflict: true,
				processFunction: says,
				config: { calls: scratch.calls, ms },
				maxWorkers: 3,
			},
		);
		t.true(await runBlockwise(task, scratch.quiet));
		const open = new Map<string, number[]>();
		let opened = 0;
		for (const text of readFileSync(scratch.calls, 'utf8').trimEnd().split('\n')) {
			const [what, at] = text.split(' ') as [string, string];
			if (what === 'close') {
				open.delete(at);
				continue;
			}
			opened++;
			const place = at.split(',').map(Number);
			for (const other of open.values()) {
				// the context is one voxel: direct neighbours, diagonal ones too
				if (other.every((value, axis) => Math.abs(value - place[axis]!) <= 1)) {
					t.fail(`${at} was opened while ${other} was open`);
				}
			}
			open.set(at, place);
		}
		t.is(opened, side ** 3);
		t.is(open.size, 0);
	});
}

for (const [name, read] of [
	['context above only', new Roi([0], [25])],
	['context below only', new Roi([-15], [25])],
	['context on both sides', new Roi([-15], [40])],
] as const) {
	test(`Chained tasks with *asymmetric* context: downstream blocks never become ready -> the run hangs: ${name}`, async (t) => {
		const scratch = new Scratch(t);
		const order = new Scratch(t);
		const lower = -read.begin[0]!;
		const upper = read.end[0]! - 10;
		const config = { calls: order.calls };
		const up = line(scratch, 3, {}, { taskId: 'a', processFunction: says, config });
		const down = line(
			scratch,
			0,
			{},
			{
				taskId: 'b',
				totalRoi: new Roi([-lower], [30 + lower + upper]),
				readRoi: read,
				writeRoi: new Roi([0], [10]),
				fit: 'shrink',
			},
		);
		const states = await runBlockwise(chain(up, down), { ...scratch.quiet, returnStates: true });
		t.deepEqual([states.a!.completed, states.b!.completed, states.b!.pending], [3, 3, 0]);
		t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1 });
	});
}

test("Downstream task on a part of the upstream's volume: crash", async (t) => {
	const scratch = new Scratch(t);
	const up = line(scratch, 3, {}, { taskId: 'a' });
	const part = { totalRoi: new Roi([10], [10]), taskId: 'b' };
	const states = await runBlockwise(chain(up, line(scratch, 0, {}, part)), {
		...scratch.quiet,
		returnStates: true,
	});
	t.deepEqual([states.a!.completed, states.b!.completed], [3, 1]);
});

test('Downstream task larger than its upstream: the blocks with no upstream block never start', async (t) => {
	const scratch = new Scratch(t);
	const up = () => line(scratch, 3, {}, { taskId: 'a' });
	const larger = { totalRoi: new Roi([-10], [50]), taskId: 'b' };
	const error = await t.throwsAsync(
		runBlockwise(chain(up(), line(scratch, 0, {}, larger)), scratch.quiet),
		{ code: 'ERR_BELLIS_UNCOVERED' },
	);
	t.regex(error!.message, /allowUncovered/);
	const allowed = line(scratch, 0, {}, { ...larger, allowUncovered: true });
	const states = await runBlockwise(chain(up(), allowed), { ...scratch.quiet, returnStates: true });
	t.deepEqual([states.a!.completed, states.b!.completed], [3, 5]);
});
