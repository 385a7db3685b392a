import test from 'ava';
import fc from 'fast-check';
import { isBellisError } from '../../src/errors.js';
import { FITS } from '../../src/fit.js';
import type { NativeTaskSpec } from '../../src/native.js';
import {
	describeTask,
	graphBlocks,
	graphFree,
	graphNew,
	graphUpstream,
	schedulerAcquire,
	schedulerAcquireBatch,
	schedulerFree,
	schedulerNew,
	schedulerRelease,
} from '../../src/native-scheduler.js';
import { task } from '../task/tasks.js';

// The public classes check what they are given; here the addon is called past them.

const good = task('t').nativeSpec;
const MAX = Number.MAX_SAFE_INTEGER;

const named: [string, Partial<NativeTaskSpec>][] = [
	['an empty block', { writeShape: [0] }],
	['a negative block', { readShape: [-10] }],
	['a negative total', { totalShape: [-1] }],
	['2^63 - 1', { totalOffset: [2 ** 63 - 1] }],
	['a huge end', { totalOffset: [MAX], totalShape: [MAX] }],
	['NaN', { totalShape: [Number.NaN] }],
	['infinity', { readOffset: [Number.NEGATIVE_INFINITY] }],
	['a fraction', { writeOffset: [0.5] }],
	['no axes', { totalOffset: [], totalShape: [] }],
	['different axes', { readOffset: [0, 0], readShape: [10, 10] }],
	['12 axes', { totalOffset: Array(12).fill(0), totalShape: Array(12).fill(40) }],
	['an unknown fit', { fit: 'grow' as 'valid' }],
	['a write outside of the read', { writeOffset: [5] }],
	['no id', { taskId: '' }],
];

for (const [name, change] of named) {
	test(`${name} is refused with a path`, (t) => {
		const error = t.throws(() => describeTask({ ...good, ...change }));
		if (!isBellisError(error, 'ERR_BELLIS_VALIDATION')) t.fail(String(error));
		else t.not(error.path, '');
	});
}

const entry = fc.oneof(
	fc.integer({ min: -20, max: 20 }),
	fc.constantFrom(MAX, -MAX, MAX - 1, 2 ** 40, 2 ** 53, 2 ** 60, 2 ** 62, -(2 ** 63), 0.1),
);
const entries = fc.array(entry, { maxLength: 4 });
const anySpec = fc.record({
	taskId: fc.constantFrom('t', 'u'),
	totalOffset: entries,
	totalShape: entries,
	readOffset: entries,
	readShape: entries,
	writeOffset: entries,
	writeShape: entries,
	fit: fc.constantFrom(...FITS),
	readWriteConflict: fc.boolean(),
	maxRetries: fc.nat({ max: 3 }),
	allowUncovered: fc.boolean(),
}) as fc.Arbitrary<NativeTaskSpec>;

/** One dimension, mostly sensible, so that many are accepted. */
const narrowSpec = fc
	.record({
		total: fc.tuple(entry, entry),
		context: fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 })),
		size: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(2 ** 30, 2 ** 52)),
		fit: fc.constantFrom(...FITS),
		readWriteConflict: fc.boolean(),
	})
	.map(({ total, context: [below, above], size, ...rest }) => ({
		...good,
		...rest,
		totalOffset: [total[0]],
		totalShape: [total[1]],
		readOffset: [-below],
		readShape: [below + size + above],
		writeOffset: [0],
		writeShape: [size],
	}));

/** Whether a call gives something, or a described refusal; anything else is thrown on. */
function accepts<T>(call: () => T): T | undefined {
	try {
		return call();
	} catch (error) {
		if (isBellisError(error) && error.code !== 'ERR_BELLIS_NATIVE') return undefined;
		throw error;
	}
}

test('no task, however odd, does more than be refused', (t) => {
	let accepted = 0;
	const look = (spec: NativeTaskSpec) => {
		if (accepts(() => describeTask(spec)) === undefined) return;
		accepted++;
		const graph = accepts(() => graphNew([spec], []));
		if (graph !== undefined) {
			const blocks = accepts(() => graphBlocks(graph, 0, null, 3));
			for (const block of blocks ?? []) accepts(() => graphUpstream(graph, 0, block));
			graphFree(graph);
		}
		const scheduled = {
			spec,
			skipMask: null,
			hasCheck: false,
			verifyDone: false,
			trackingPath: null,
			onLayoutMismatch: 'error' as const,
			grownFrom: null,
		};
		const scheduler = accepts(() => schedulerNew([scheduled], []));
		if (scheduler === undefined) return;
		for (const block of schedulerAcquireBatch(scheduler, 0, 3)) {
			schedulerRelease(scheduler, 0, block);
		}
		schedulerFree(scheduler);
	};
	const seed = Number(process.env.BELLIS_SEED ?? Date.now());
	t.log(`seed ${seed}`);
	fc.assert(fc.property(anySpec, look), { seed, numRuns: 2000 });
	fc.assert(fc.property(narrowSpec, look), { seed, numRuns: 2000 });
	t.log(`${accepted} of 4000 were accepted`);
	t.true(accepted > 100);
});

test('handles and indices that mean nothing are refused, and later calls work', (t) => {
	const odd = [-1, 0.5, 99, 2 ** 32, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY];
	for (const handle of odd) {
		t.throws(() => schedulerAcquire(handle + 1000, 0), { code: 'ERR_BELLIS_NATIVE' });
	}
	const graph = graphNew([good], []);
	for (const block of odd) {
		t.throws(() => graphUpstream(graph, 0, block), { code: 'ERR_BELLIS_VALIDATION' });
	}
	t.throws(() => graphUpstream(graph, 7, 0), { code: 'ERR_BELLIS_VALIDATION' });
	t.throws(() => graphNew([good, { ...good, taskId: 'u' }], [[0, 9]]), {
		code: 'ERR_BELLIS_PIPELINE',
	});
	t.deepEqual([...graphBlocks(graph, 0, null, 9)], [0, 1, 2, 3]);
	graphFree(graph);
});
