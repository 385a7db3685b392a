import test from 'ava';
import { checkBlocks } from '../../src/run/check-blocks.js';

const blocks = [0, 1, 2, 3];

test('answers come in the order of the blocks, from synchronous and asynchronous functions', async (t) => {
	const odd = (block: number) => block % 2 === 1;
	t.deepEqual([...(await checkBlocks(odd, blocks)).answers], [0, 1, 0, 1]);
	const late = async (block: number) => {
		for (let i = block; i < 5; i++) await null;
		return odd(block);
	};
	const { answers, firstError } = await checkBlocks(late, blocks);
	t.deepEqual([...answers], [0, 1, 0, 1]);
	t.is(firstError, null);
});

test('a promise of false is no yes', async (t) => {
	t.deepEqual([...(await checkBlocks(async () => false, blocks)).answers], [0, 0, 0, 0]);
});

test('what throws, rejects or gives no boolean is an error and not done, and the first is kept', async (t) => {
	const check = (block: number): boolean => {
		if (block === 1) throw new RangeError('first');
		if (block === 2) return [true] as unknown as boolean;
		if (block === 3) return Promise.reject(new Error('late')) as unknown as boolean;
		return true;
	};
	const { answers, firstError } = await checkBlocks(check, blocks);
	t.deepEqual([...answers], [1, 2, 2, 2]);
	t.is(firstError!.name, 'RangeError');
	const array = await checkBlocks(() => [] as unknown as boolean, [0]);
	t.is(
		array.firstError!.message,
		'checkFunction must return a boolean or a promise of one, not an array',
	);
	const nothing = await checkBlocks(() => undefined as unknown as boolean, [0]);
	t.regex(nothing.firstError!.message, /not undefined$/);
});

test('the first error is that of the first block, also when a later one fails sooner', async (t) => {
	const { firstError } = await checkBlocks((block: number): Promise<boolean> => {
		if (block === 0) return Promise.resolve().then(() => Promise.reject(new Error('of block 0')));
		throw new Error(`of block ${block}`);
	}, blocks);
	t.is(firstError!.message, 'of block 0');
});

test('no more than 64 asynchronous checks run at once', async (t) => {
	let running = 0;
	let most = 0;
	await checkBlocks(
		async () => {
			most = Math.max(most, ++running);
			await new Promise((resolve) => setImmediate(resolve));
			running--;
			return true;
		},
		Array.from({ length: 500 }, (_, i) => i),
	);
	t.is(most, 64);
});
