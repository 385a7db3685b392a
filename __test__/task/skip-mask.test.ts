import test from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import { readSkipMask, type SkipMask } from '../../src/task/skip-mask.js';
import { task } from './tasks.js';

test('an array of bytes is not copied', (t) => {
	const bytes = new Uint8Array([9, 1, 0, 1, 0, 9]).subarray(1, 5);
	const mask = readSkipMask(bytes, [4], 'skipMask');
	t.deepEqual([...mask], [1, 0, 1, 0]);
	bytes[1] = 1;
	t.is(mask[1], 1);
	t.is(task('a', { skipMask: bytes }).skipMask, bytes);
});

test('every way to write a mask gives the same bytes', (t) => {
	const ways: SkipMask[] = [
		[1, 0, true, false, 0, 1],
		[
			[1, 0, 1],
			[false, 0, true],
		],
		new Int8Array([-1, 0, 1, 0, 0, 1]),
		new Float64Array([0.5, 0, 1, -0, 0, 256]),
		new Uint16Array([256, 0, 1, 0, 0, 512]),
	];
	for (const mask of ways) {
		const bytes = readSkipMask(mask, [2, 3], 'skipMask');
		t.deepEqual([...bytes].map(Boolean), [true, false, true, false, false, true]);
	}
});

test('a mask of the wrong shape is refused with the right one', (t) => {
	const shape = /\[2, 3\]/;
	for (const mask of [
		[1, 0],
		new Uint8Array(5),
		[[1], [0]],
		[[[1]], [[1]]],
		[
			[1, 1],
			[1, 1],
			[1, 1],
		],
	]) {
		t.throws(() => readSkipMask(mask, [2, 3], 'skipMask'), { message: shape });
	}
	const ragged = t.throws(() => readSkipMask([[1, 0, 1], [1]], [2, 3], 'skipMask'));
	t.is((ragged as { path?: string }).path, 'skipMask[1]');
	const holes = new Array(6);
	t.throws(() => readSkipMask(holes, [2, 3], 'skipMask'), { message: /skipMask\[0\]/ });
	t.throws(
		() =>
			readSkipMask(
				[
					[1, 0, 1],
					[1, 'a', 0],
				],
				[2, 3],
				'skipMask',
			),
		{
			message: /skipMask\[1\]\[1\]/,
		},
	);
});

test('a grid without blocks takes an empty mask', (t) => {
	for (const mask of [[], new Uint8Array(0), [[], []]]) {
		t.is(readSkipMask(mask, [2, 0], 'skipMask').length, 0);
	}
});

test('the mask has the shape of the block grid, with context too', (t) => {
	const context = {
		totalRoi: new Roi([-10], [60]),
		readRoi: new Roi([-10], [30]),
		writeRoi: new Roi([0], [10]),
	};
	const skipMask = [1, 0, 0, 1];
	t.deepEqual([...task('a', { ...context, skipMask }).skipBytes!], skipMask);
});
