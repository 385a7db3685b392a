// `npm run bench -- calls`: what a call from JavaScript into the addon costs, apart from what it does.
import { Roi, Scheduler, Task } from '../dist/index.js';
import { binding, shared } from '../dist/native.js';
import { result } from './results.js';

const CALLS = 1_000_000;

/** Nanoseconds a call of `work`, one value a repeat; the first repeat only warms up. */
function nanoseconds(work, repeats, calls = CALLS) {
	const values = [];
	for (let repeat = 0; repeat <= repeats; repeat++) {
		const start = process.hrtime.bigint();
		for (let i = 0; i < calls; i++) work();
		if (repeat > 0) values.push(Number(process.hrtime.bigint() - start) / calls);
	}
	return values;
}

/** Four blocks of ten in one dimension, of which none waits for another. */
const task = () =>
	new Task({
		taskId: 'four',
		totalRoi: new Roi([0], [40]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		readWriteConflict: false,
	});

/**
 * Measures the kinds of calls that there are.
 *
 * @param {{ quick?: boolean }} options
 */
export async function measure({ quick = false }) {
	const repeats = quick ? 3 : 9;
	const scheduler = new Scheduler(task());
	while (scheduler.acquire('four'));
	// The scheduler's handle is the first of this process.
	shared[0] = 0;
	shared[1] = 0;
	const row = (name, work, calls) =>
		result(name, 'bellis-ts', 'call', 'ns', nanoseconds(work, repeats, calls));
	return [
		row('hot call: no arguments, two read and eight written in the shared buffer', () =>
			binding.schedulerCounters(),
		),
		row('hot call: ask for a block where there is none', () => binding.schedulerAcquire()),
		row('public acquire() where there is none', () => scheduler.acquire('four')),
		row('other call: two arguments, envelope with a bigint', otherCall(), CALLS / 10),
		row('other call: refused with a described error', () => binding.graphCount(99, 0), CALLS / 20),
	];
}

function otherCall() {
	const { ok: handle } = binding.graphNew([task().nativeSpec], []);
	return () => binding.graphCount(handle, 0);
}
