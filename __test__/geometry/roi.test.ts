import test from 'ava';
import fc from 'fast-check';
import { isBellisError } from '../../src/errors.js';
import { Roi } from '../../src/geometry/roi.js';

const roi1 = (offset: number, shape: number) => new Roi([offset], [shape]);

test('a Roi knows its corners, size and text', (t) => {
	const roi = new Roi([1, 2], [10, 20]);
	t.deepEqual(roi.begin.toArray(), [1, 2]);
	t.deepEqual(roi.end.toArray(), [11, 22]);
	t.is(roi.dims, 2);
	t.is(roi.size, 200);
	t.false(roi.empty);
	t.is(`${roi}`, 'Roi((1, 2), (10, 20))');
	t.is(`${roi1(0, 60)}`, 'Roi((0), (60))');
	t.is(JSON.stringify(roi), '{"offset":[1,2],"shape":[10,20]}');
	t.true(new Roi(JSON.parse(JSON.stringify(roi)).offset, roi.shape).equals(roi));
	t.true(Object.isFrozen(roi));
});

test('what is no Roi is refused by path', (t) => {
	const paths: [() => unknown, string][] = [
		[() => new Roi([0], [-1]), 'shape[0]'],
		[() => new Roi([0, 0], [1]), 'shape'],
		[() => new Roi([], []), 'offset'],
		[() => new Roi([1.5], [1]), 'offset[0]'],
		[() => new Roi([1], ['1' as unknown as number]), 'shape[0]'],
		[() => new Roi([Number.MAX_SAFE_INTEGER], [1]), 'shape[0]'],
		[() => roi1(0, 1).intersect(new Roi([0, 0], [1, 1])), 'other'],
		[() => roi1(0, 1).union(null as unknown as Roi), 'other'],
		[() => roi1(0, 1).union({ offset: [0], shape: [-1] }), 'other.shape[0]'],
		[() => roi1(0, 1).snapToGrid([0]), 'grid'],
		[() => roi1(0, 1).snapToGrid([1], 'round' as 'grow'), 'mode'],
		[() => new Roi([0, 0], [2 ** 30, 2 ** 30]).size, 'size'],
	];
	for (const [run, path] of paths) {
		const error = t.throws(run);
		t.true(isBellisError(error, 'ERR_BELLIS_VALIDATION'));
		t.is((error as { path?: string }).path, path);
	}
});

test('empty Rois keep their place and never get a negative shape', (t) => {
	const box = new Roi([0, 0, 0], [10, 10, 10]);
	const empty = new Roi([5, 5, 5], [0, 0, 0]);
	t.true(box.contains(empty));
	t.true(box.intersect(empty).equals(empty));
	t.true(empty.intersect(box).equals(empty));
	t.false(box.intersects(empty));
	t.false(empty.intersects(box));
	t.true(box.union(empty).equals(box));
	t.true(empty.union(box).equals(box));
	t.is(empty.size, 0);

	const touching = roi1(0, 10).intersect(roi1(10, 10));
	t.deepEqual(touching.toJSON(), { offset: [10], shape: [0] });
	t.false(roi1(0, 10).intersects(roi1(10, 10)));
	t.deepEqual(roi1(0, 10).intersect(roi1(30, 5)).toJSON(), { offset: [30], shape: [0] });
});

test('containing, growing, shifting and snapping', (t) => {
	const roi = roi1(3, 10);
	t.true(roi.contains([3]));
	t.false(roi.contains([13]));
	t.true(roi.contains(roi));
	t.false(roi.contains(roi1(3, 11)));
	t.deepEqual(roi.grow(2, [3]).toJSON(), { offset: [1], shape: [15] });
	t.deepEqual(roi.grow(-2, -3).toJSON(), { offset: [5], shape: [5] });
	t.deepEqual(roi.grow(-20, 0).toJSON(), { offset: [23], shape: [0] });
	t.deepEqual(roi.shift(-5).toJSON(), { offset: [-2], shape: [10] });
	t.deepEqual(roi.snapToGrid([5]).toJSON(), { offset: [0], shape: [15] });
	t.deepEqual(roi.snapToGrid([5], 'shrink').toJSON(), { offset: [5], shape: [5] });
	t.deepEqual(roi.snapToGrid([5], 'closest').toJSON(), { offset: [5], shape: [10] });
	t.deepEqual(roi1(1, 1).snapToGrid(10, 'shrink').toJSON(), { offset: [10], shape: [0] });
});

test('set laws hold for random Rois', (t) => {
	const roi = fc
		.tuple(
			fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 2, maxLength: 2 }),
			fc.array(fc.nat({ max: 15 }), { minLength: 2, maxLength: 2 }),
		)
		.map(([offset, shape]) => new Roi(offset, shape));
	const point = fc.tuple(fc.integer({ min: -25, max: 40 }), fc.integer({ min: -25, max: 40 }));
	fc.assert(
		fc.property(roi, roi, point, fc.integer({ min: 1, max: 7 }), (a, b, p, grid) => {
			t.is(a.intersects(b), b.intersects(a));
			t.is(a.intersect(b).contains(p), a.contains(p) && b.contains(p));
			if (a.contains(p) || b.contains(p)) t.true(a.union(b).contains(p));
			t.true(a.intersect(b).shape.min(0).equals([0, 0]), 'no negative extent');
			t.true(a.snapToGrid(grid, 'grow').contains(a));
			if (!a.snapToGrid(grid, 'shrink').empty) t.true(a.contains(a.snapToGrid(grid, 'shrink')));
			t.true(a.grow(3, 4).grow(-3, -4).equals(a));
		}),
	);
});
