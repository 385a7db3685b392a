import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Block } from '../../src/block.js';
import { Roi } from '../../src/geometry/roi.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { Task, type TaskOptions } from '../../src/task/task.js';
import { line, Scratch } from '../end-to-end/scratch.js';
import { ARRAYS, readArrays, readAttributes } from './arrays.js';
import { observe } from './observed-run.js';

const CASE = 'The marker array cannot be opened by other zarr readers, or theirs not by us';

type Json = Record<string, unknown>;

const parsed = (path: string): Json => JSON.parse(readFileSync(path, 'utf8'));

/** A task of 3 blocks along each axis but the last, which has 2. */
function cube(t: ExecutionContext, dims: number, more: Partial<TaskOptions> = {}) {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const blocks = Array.from({ length: dims }, (_, axis) => (axis === dims - 1 ? 2 : 3));
	const ones = blocks.map(() => 1);
	const zeros = blocks.map(() => 0);
	const ran: number[] = [];
	const task = (other: Partial<TaskOptions> = {}) =>
		new Task({
			taskId: 'cube',
			totalRoi: new Roi(zeros, blocks),
			readRoi: new Roi(zeros, ones),
			writeRoi: new Roi(zeros, ones),
			readWriteConflict: false,
			trackingPath,
			processFunction: (block) => void ran.push(Number(block.number)),
			...more,
			...other,
		});
	const run = (other: Partial<TaskOptions> = {}) =>
		observe(task(other), { multiprocessing: false });
	return { scratch, trackingPath, blocks, task, run, ran };
}

for (const dims of [1, 2, 3, 4]) {
	test(`${CASE}: what is written for ${dims} axes is what the specification says`, async (t) => {
		const { trackingPath, blocks, task, run } = cube(t, dims, { resourceTracking: true });
		const total = blocks.reduce((a, b) => a * b, 1);
		const skipMask = Uint8Array.from({ length: total }, (_, cell) => Number(cell % 3 === 0));
		await run({ skipMask });
		const group = parsed(join(trackingPath, 'zarr.json'));
		t.deepEqual(Object.keys(group).sort(), ['attributes', 'node_type', 'zarr_format']);
		t.like(group, { zarr_format: 3, node_type: 'group' });
		t.deepEqual(Object.keys(group.attributes as Json).sort(), ['bellis', 'daisy_task_hash']);
		t.is((await readAttributes(trackingPath)).daisy_task_hash, task().layoutHash);
		for (const [name, dtype] of Object.entries(ARRAYS)) {
			const array = parsed(join(trackingPath, name, 'zarr.json'));
			t.like(array, { zarr_format: 3, node_type: 'array', data_type: dtype });
			t.deepEqual(array.shape, blocks);
			t.deepEqual(array.chunk_grid, { name: 'regular', configuration: { chunk_shape: blocks } });
			const encoding = { name: 'default', configuration: { separator: '/' } };
			t.deepEqual(array.chunk_key_encoding, encoding);
			const bytes =
				dtype === 'uint8'
					? { name: 'bytes' }
					: { name: 'bytes', configuration: { endian: 'little' } };
			t.deepEqual((array.codecs as Json[]).length, 1);
			t.like((array.codecs as Json[])[0], dtype === 'uint8' ? { name: 'bytes' } : bytes);
			const allowed = [
				...['attributes', 'chunk_grid', 'chunk_key_encoding', 'codecs', 'data_type'],
				...['dimension_names', 'fill_value', 'node_type', 'shape', 'storage_transformers'],
				'zarr_format',
			];
			t.deepEqual(
				Object.keys(array).filter((key) => !allowed.includes(key)),
				[],
			);
			const chunk = readFileSync(join(trackingPath, name, 'c', ...blocks.map(() => '0')));
			t.is(chunk.length, (total * Number(/\d+$/.exec(dtype)![0])) / 8);
		}
		const { done } = await readArrays(trackingPath, ['done']);
		t.deepEqual([...done!.shape], blocks);
		t.deepEqual(
			done!.values,
			Array.from(skipMask, (masked) => 1 - masked),
		);
		const report = await task().report();
		for (let index = 0; index < total; index++) {
			const record = await report.block(Block.at(task().geometry, index));
			t.is(record!.done, done!.values[index] === 1);
		}
	});
}

test(`${CASE}: a single block`, async (t) => {
	const { trackingPath, run } = cube(t, 1, {
		totalRoi: new Roi([5], [7]),
		readRoi: new Roi([0], [7]),
		writeRoi: new Roi([0], [7]),
	});
	await run();
	t.deepEqual((await readArrays(trackingPath, ['done'])).done!.values, [1]);
});

test(`${CASE}: zarrita opens the group while a run is on and reads what the files hold`, async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const deeds = {
		2: { do: 'gate', file: scratch.path('go') },
		1: { do: 'throw', once: true },
	};
	const more = { trackingPath, resourceTracking: true, maxWorkers: 1, maxRetries: 1 };
	const task = line(scratch, 3, deeds, more);
	const run = runBlockwise(task, scratch.quiet);
	await scratch.made('go.waits.2');
	// the driver may still be writing down what came before the block that waits
	for (;;) {
		const { done, failures } = await readArrays(trackingPath, ['done', 'failures']);
		if (done!.values[0] === 1 && failures!.values[1] === 1) break;
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	const arrays = await readArrays(trackingPath);
	t.is(arrays.done!.values[2], 0);
	t.is((await task.status()).heldBy!.pid, process.pid);
	for (const [name, { values }] of Object.entries(arrays)) {
		if (name === 'failures' || name === 'done') {
			const file = readFileSync(join(trackingPath, name, 'c/0'));
			const read = (cell: number) => (name === 'done' ? file[cell] : file.readUInt32LE(4 * cell));
			t.deepEqual(values, [0, 1, 2].map(read) as number[], name);
		} else {
			t.is(values[2], 0, name);
		}
	}
	t.true(arrays.wall_seconds!.values[0]! > 0);
	scratch.open('go');
	t.true(await run);
	t.deepEqual((await readArrays(trackingPath, ['done'])).done!.values, [1, 1, 1]);
	t.is((await task.status()).heldBy, null);
});

const reversed = (value: unknown): unknown =>
	value !== null && typeof value === 'object' && !Array.isArray(value)
		? Object.fromEntries(
				Object.entries(value)
					.reverse()
					.map(([key, inner]) => [key, reversed(inner)]),
			)
		: value;

const accepted: Record<string, (text: string) => string> = {
	'keys in another order': (text) => JSON.stringify(reversed(JSON.parse(text))),
	'pretty-printed': (text) => JSON.stringify(JSON.parse(text), null, 4),
	'a line break at the end': (text) => `${text}\n`,
	'a byte order mark': (text) => `\uFEFF${text}`,
	'an extension that need not be understood': (text) =>
		JSON.stringify({ ...JSON.parse(text), extra: { must_understand: false, name: 'x' } }),
	'no configuration where the defaults hold': (text) => {
		const array = JSON.parse(text);
		if (array.chunk_key_encoding) array.chunk_key_encoding = { name: 'default' };
		if (array.data_type === 'uint8') array.codecs = [{ name: 'bytes' }];
		return JSON.stringify(array);
	},
	'storage transformers, of which there are none': (text) => {
		const node = JSON.parse(text);
		if (node.node_type === 'array') node.storage_transformers = [];
		return JSON.stringify(node);
	},
	'numbers written as 1.0': (text) =>
		text.replace(/"(shape|chunk_shape)":\s*\[\s*6\s*\]/g, '"$1":[6.0]'),
};

for (const [what, change] of Object.entries(accepted)) {
	test(`${CASE}: ${what} is accepted`, async (t) => {
		const { trackingPath, run, ran } = cube(t, 1, six);
		await run({ skipMask: [0, 0, 0, 1, 1, 1] });
		for (const file of ['zarr.json', 'done/zarr.json', 'failures/zarr.json']) {
			const path = join(trackingPath, file);
			const text = readFileSync(path, 'utf8');
			if (file !== 'zarr.json') t.not(change(text), text);
			writeFileSync(path, change(text));
		}
		ran.length = 0;
		const { state } = await run();
		t.is(state.skipped, 3);
		t.is(ran.length, 3);
	});
}

const six = {
	totalRoi: new Roi([0], [6]),
	readRoi: new Roi([0], [1]),
	writeRoi: new Roi([0], [1]),
};

const refused: Record<string, [file: string, change: (array: Json) => Json]> = {
	'zarr format 2': ['done/zarr.json', (array) => ({ ...array, zarr_format: 2 })],
	'a group of zarr format 2': ['zarr.json', (group) => ({ ...group, zarr_format: 2 })],
	'another type': ['done/zarr.json', (array) => ({ ...array, data_type: 'uint16' })],
	'a compressed array': [
		'done/zarr.json',
		(array) => ({
			...array,
			codecs: [{ name: 'bytes' }, { name: 'zstd', configuration: { level: 0, checksum: false } }],
		}),
	],
	'a sharded array': [
		'failures/zarr.json',
		(array) => ({
			...array,
			codecs: [{ name: 'sharding_indexed', configuration: { chunk_shape: [2], codecs: [] } }],
		}),
	],
	'several chunks': [
		'done/zarr.json',
		(array) => ({
			...array,
			chunk_grid: { name: 'regular', configuration: { chunk_shape: [3] } },
		}),
	],
	'another shape': ['done/zarr.json', (array) => ({ ...array, shape: [7] })],
	'an extension that must be understood': ['done/zarr.json', (array) => ({ ...array, extra: {} })],
};

for (const [what, [file, change]] of Object.entries(refused)) {
	test(`${CASE}: ${what} is refused clearly`, async (t) => {
		const { trackingPath, run, ran } = cube(t, 1, six);
		await run();
		const path = join(trackingPath, file);
		writeFileSync(path, JSON.stringify(change(parsed(path))));
		ran.length = 0;
		const error = await t.throwsAsync(run(), { code: 'ERR_BELLIS_STORE' });
		t.true(error!.message.includes(path), error!.message);
		t.deepEqual(ran, []);
	});
}

test('a store made by hand without a hash is accepted for its shape, and stays without one', async (t) => {
	const { trackingPath, run, ran } = cube(t, 1, six);
	mkdirSync(join(trackingPath, 'done/c'), { recursive: true });
	writeFileSync(join(trackingPath, 'zarr.json'), '{"zarr_format":3,"node_type":"group"}');
	writeFileSync(
		join(trackingPath, 'done/zarr.json'),
		JSON.stringify({
			zarr_format: 3,
			node_type: 'array',
			shape: [6],
			data_type: 'uint8',
			chunk_grid: { name: 'regular', configuration: { chunk_shape: [6] } },
			chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
			fill_value: 0,
			codecs: [{ name: 'bytes' }],
		}),
	);
	writeFileSync(join(trackingPath, 'done/c/0'), Buffer.from([0, 1, 1, 0, 1, 0]));
	const { state, notices } = await run();
	t.is(state.skipped, 3);
	t.deepEqual(ran, [0, 3, 5]);
	t.regex(notices['without-hash']!, /no layout hash/);
	t.is(parsed(join(trackingPath, 'zarr.json')).attributes, undefined);
	await t.throwsAsync(run({ ...six, totalRoi: new Roi([0], [7]) }), { code: 'ERR_BELLIS_STORE' });
});
