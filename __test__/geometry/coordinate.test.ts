import test from 'ava';
import fc from 'fast-check';
import { isBellisError } from '../../src/errors.js';
import { Coordinate, ceilDiv, floorDiv, floorMod } from '../../src/geometry/coordinate.js';

const refused = (path: string) => (error: unknown) =>
	isBellisError(error, 'ERR_BELLIS_VALIDATION') && error.path === path;

test('a coordinate is frozen, iterable and indexable', (t) => {
	const c = new Coordinate([1, -2, 3n]);
	t.deepEqual([...c], [1, -2, 3]);
	t.is(c[1], -2);
	t.is(c.dims, 3);
	t.true(Object.isFrozen(c));
	t.throws(() => ((c as unknown as number[])[0] = 9), { instanceOf: TypeError });
	t.is(JSON.stringify(c), '[1,-2,3]');
	t.is(`${c}`, '(1, -2, 3)');
	t.true(new Coordinate(c).equals(c));
	t.true(new Coordinate(new BigInt64Array([-1000n])).equals([-1000]));
});

test('arithmetic is element-wise, and a number stands for every axis', (t) => {
	const c = new Coordinate([-7, 7]);
	t.deepEqual(c.add([1, 2]).toArray(), [-6, 9]);
	t.deepEqual(c.sub(1).toArray(), [-8, 6]);
	t.deepEqual(c.mul([2, 3]).toArray(), [-14, 21]);
	t.deepEqual(c.floorDiv(3).toArray(), [-3, 2]);
	t.deepEqual(c.mod(3).toArray(), [2, 1]);
	t.deepEqual(c.neg().toArray(), [7, -7]);
	t.deepEqual(c.min([0, 0]).toArray(), [-7, 0]);
	t.deepEqual(c.max([0, 0]).toArray(), [0, 7]);
	t.is(c.product(), -49);
	t.true(c.equals([-7, 7]));
	t.false(c.equals([-7]));
	t.is(Object.is(new Coordinate([0]).neg()[0], 0), true, 'no minus zero');
});

test('what is no coordinate is refused by path', (t) => {
	for (const bad of [NaN, 1.5, 2 ** 53, 2n ** 53n + 1n, '10', null, undefined, Infinity, true]) {
		t.true(refused('coordinate[1]')(t.throws(() => new Coordinate([0, bad as number]))), `${bad}`);
	}
	for (const bad of [null, undefined, 3, 'ab', {}, { length: 1, 0: 1 }, new Set([1])]) {
		t.true(refused('coordinate')(t.throws(() => new Coordinate(bad as unknown as number[]))));
	}
	t.true(refused('coordinate')(t.throws(() => new Coordinate([]))));
	t.true(refused('coordinate')(t.throws(() => new Coordinate(new Array(12).fill(1)))));
	t.true(refused('other')(t.throws(() => new Coordinate([1]).add([1, 2]))));
	t.true(refused('other')(t.throws(() => new Coordinate([1, 2]).floorDiv([1, 0]))));
	t.true(refused('coordinate[0]')(t.throws(() => new Coordinate([2 ** 52]).mul(4))));
	t.true(refused('product')(t.throws(() => new Coordinate([2 ** 30, 2 ** 30]).product())));
	t.is(new Coordinate([2 ** 30, 2 ** 30, 0]).product(), 0);
});

test('division is exact over the whole range', (t) => {
	const integer = fc.oneof(fc.maxSafeInteger(), fc.integer());
	fc.assert(
		fc.property(
			integer,
			integer.filter((b) => b !== 0),
			(a, b) => {
				const quotient = floorDiv(a, b);
				const rest = floorMod(a, b);
				t.is(BigInt(quotient) * BigInt(b) + BigInt(rest), BigInt(a));
				t.true(rest === 0 || rest > 0 === b > 0);
				t.true(Math.abs(rest) < Math.abs(b));
				t.is(ceilDiv(a, b), rest === 0 ? quotient : quotient + 1);
			},
		),
	);
});
