// The example, run as a user runs it: in every mode, with its counts, its output on disk and its pictures.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { readBytes, readLabels } from '../../examples/mutex-watershed/src/volume.js';
import { decodeDoneGrid, decodeMosaic, readPng } from './mutex-watershed/decode.js';
import { cut, readReference, readTileList, renumber } from './mutex-watershed/reference.js';

const EXAMPLE = fileURLToPath(
	new URL('../../examples/mutex-watershed/dist/main.js', import.meta.url),
);
const STALLED_WORKER = new URL('./mutex-watershed/stalled-worker.mjs', import.meta.url);

const ALL_TILES = Array.from({ length: 16 }, (_, tile) => tile);
const FAILING = 6; // row 1, column 2

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
	if (!existsSync(EXAMPLE)) throw new Error(`${EXAMPLE} is missing: npm run build`);
	return spawn(process.execPath, [EXAMPLE, ...args], {
		env: { ...process.env, NODE_OPTIONS: '', ...env },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
}

async function finish(child: ChildProcess) {
	let [stdout, stderr] = ['', ''];
	child.stdout!.setEncoding('utf8').on('data', (text) => (stdout += text));
	child.stderr!.setEncoding('utf8').on('data', (text) => (stderr += text));
	const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
	return { code, signal, stdout, stderr };
}

const newDirectory = () => mkdtemp(join(tmpdir(), 'bellis-example-'));

/** The lines that end the runs, with the times taken out. */
function runLines(stdout: string): string[] {
	return stdout
		.split('\n')
		.filter((line) => /^\d: /.test(line))
		.map((line) => line.replace(/elapsed= *\d+\.\d ms$/, 'elapsed'));
}

/** The pixels of equal ground truth inside a tile, joined over steps of one and three; 0 for one without such a partner. */
function regionsOf(labels: Uint32Array): Uint32Array {
	const regions = new Uint32Array(labels.length);
	let region = 0;
	for (let start = 0; start < labels.length; start++) {
		if (regions[start]) continue;
		region++;
		let size = 0;
		const open = [start];
		while (open.length > 0) {
			const pixel = open.pop()!;
			if (regions[pixel] || labels[pixel] !== labels[start]) continue;
			regions[pixel] = region;
			size++;
			for (const step of [1, 3]) {
				if (pixel % 128 >= step) open.push(pixel - step);
				if (pixel % 128 < 128 - step) open.push(pixel + step);
				if (pixel >= 128 * step) open.push(pixel - 128 * step);
				if (pixel < labels.length - 128 * step) open.push(pixel + 128 * step);
			}
		}
		if (size === 1) regions[start] = 0;
	}
	return regions;
}

const windowOf = (tile: number) =>
	({ offset: [Math.floor(tile / 4) * 128, (tile % 4) * 128], shape: [128, 128] }) as const;

async function checkSegmentation(t: ExecutionContext, directory: string): Promise<Uint32Array> {
	const segmentation = await readLabels(join(directory, 'volume.zarr', 'segmentation'));
	const { tiles } = await readTileList('tutorial');
	for (const tile of tiles) {
		const labels = cut(segmentation, tile);
		const expected = await readReference('tutorial', 'expected_tiles', tile);
		t.deepEqual(renumber(labels), renumber(expected), `tile ${tile.tile}`);
		const first = tile.block_id * 128 * 128;
		t.true(
			labels.every((label) => label > first && label <= first + 128 * 128),
			`tile ${tile.tile}`,
		);
	}
	const groundTruth = (await readReference('tutorial', 'ground_truth')) as Uint32Array;
	const seen = new Set<number>();
	for (const tile of ALL_TILES) {
		const labels = cut(segmentation, windowOf(tile));
		const truth = cut({ data: groundTruth, shape: [512, 512] }, windowOf(tile));
		t.deepEqual(renumber(labels), renumber(regionsOf(truth)), `tile ${tile}`);
		const own = new Set(labels.filter((label) => label !== 0));
		t.true(
			[...own].every((label) => !seen.has(label)),
			`tile ${tile} shares a label`,
		);
		for (const label of own) seen.add(label);
	}
	return segmentation.data;
}

/** The segmentation as it was when only some tiles were written. */
function keepTiles(segmentation: Uint32Array, tiles: readonly number[]): Uint32Array {
	return segmentation.map((label, pixel) => {
		const tile = Math.floor(pixel / 512 / 128) * 4 + Math.floor((pixel % 512) / 128);
		return tiles.includes(tile) ? label : 0;
	});
}

/** Checks a finished example: output, marks and pictures. `done[n]` lists the tiles done after run n + 1. */
async function checkFiles(
	t: ExecutionContext,
	directory: string,
	done: readonly (readonly number[])[],
	failures: readonly number[],
): Promise<void> {
	const segmentation = await checkSegmentation(t, directory);
	const tracking = join(directory, 'markers.zarr', 'mws');
	const cells = await readBytes(join(tracking, 'done'));
	t.deepEqual([...cells.data], Array(16).fill(1));
	t.deepEqual(cells.shape, [4, 4]);
	t.deepEqual((await readLabels(join(tracking, 'failures'))).data, Uint32Array.from(failures));

	for (const [index, tiles] of done.entries()) {
		const name = `run-${index + 1}`;
		const output = decodeMosaic(await readPng(join(directory, `${name}-output.png`)));
		t.deepEqual(renumber(output), renumber(keepTiles(segmentation, tiles)), name);
		const grid = decodeDoneGrid(await readPng(join(directory, `${name}-done.png`)));
		t.deepEqual(
			grid.map(({ digit, framed }) => ({ digit, framed })),
			ALL_TILES.map((tile) => ({
				digit: tiles.includes(tile) ? ('1' as const) : ('0' as const),
				framed: tile === FAILING,
			})),
			name,
		);
	}
	const pictures = (await readdir(directory)).filter((file) => /\.(png|html)$/.test(file));
	t.is(pictures.length, 3 + 2 * done.length + 1);
}

const allButFailing = ALL_TILES.filter((tile) => tile !== FAILING);

for (const args of [[], ['--mode', 'worker-function'], ['--mode', 'block_function']]) {
	test.serial(`runs ${args.join(' ') || 'without arguments'}`, async (t) => {
		const directory = await newDirectory();
		const { code, stdout, stderr } = await finish(start([...args, '--out', directory]));
		t.is(code, 0, stderr);
		t.deepEqual(runLines(stdout), [
			'1: clean                  executed=16  skipped= 0  failed= 0  elapsed',
			'2: re-run, no reset       executed= 0  skipped=16  failed= 0  elapsed',
			'3: buggy, after reset     executed=15  skipped= 0  failed= 1  elapsed',
			'4: fixed, resume          executed= 1  skipped=15  failed= 0  elapsed',
		]);
		t.is(stdout.match(/^Execution Summary$/gm)?.length, 4);
		t.regex(stdout, /simulated failure on tile \(1, 2\) \(block mws\/7\)/);
		const threeAttempts = ALL_TILES.map((tile) => (tile === FAILING ? 3 : 0));
		await checkFiles(t, directory, [ALL_TILES, ALL_TILES, allButFailing, ALL_TILES], threeAttempts);
	});
}

test.serial('runs --no-multiprocessing, and then with workers in the same folder', async (t) => {
	const directory = await newDirectory();
	const { code, stdout, stderr } = await finish(
		start(['--no-multiprocessing', '--out', directory]),
	);
	t.is(code, 0, stderr);
	t.deepEqual(runLines(stdout), [
		'1: clean                  executed=16  skipped= 0  failed= 0  elapsed',
		'2: re-run, no reset       executed= 0  skipped=16  failed= 0  elapsed',
		'3: buggy, after reset    raised Error: simulated failure on tile (1, 2) (block mws/7)',
		'4: fixed, resume          executed=10  skipped= 6  failed= 0  elapsed',
	]);
	const beforeFailing = ALL_TILES.slice(0, FAILING);
	await checkFiles(
		t,
		directory,
		[ALL_TILES, ALL_TILES, beforeFailing, ALL_TILES],
		Array(16).fill(0),
	);

	const again = await finish(start(['--out', directory]));
	t.is(again.code, 0, again.stderr);
	t.regex(runLines(again.stdout)[0]!, /^1: clean +executed=16 /);
});

test.serial(
	'worker functions without workers are refused before anything is written',
	async (t) => {
		const directory = join(await newDirectory(), 'out');
		const { code, stdout, stderr } = await finish(
			start(['--mode', 'worker_function', '--no-multiprocessing', '--out', directory]),
		);
		t.is(code, 1);
		t.regex(stderr, /--mode worker-function .*--no-multiprocessing/);
		t.is(stdout, '');
		t.false(existsSync(directory));
	},
);

test.serial('a folder with a volume of somebody else is refused and left alone', async (t) => {
	const directory = await newDirectory();
	await mkdir(join(directory, 'volume.zarr'));
	const { code, stderr } = await finish(start(['--out', directory]));
	t.is(code, 1);
	t.regex(stderr, /^error: .*volume\.zarr was not written by this example/);
	t.deepEqual(await readdir(directory, { recursive: true }), ['volume.zarr']);
});

for (const [signal, exitCode] of [
	['SIGINT', 130],
	['SIGTERM', 143],
] as const) {
	test.serial(`${signal} in the middle of a run ends it with ${exitCode}`, async (t) => {
		const directory = await newDirectory();
		const gate = await newDirectory();
		const watcher = watch(gate);
		t.teardown(() => watcher.close());
		const stalled = once(watcher, 'change');
		const child = start(['--out', directory], {
			NODE_OPTIONS: `--import=${STALLED_WORKER}`,
			BELLIS_TEST_STALLED: join(gate, 'stalled'),
		});
		const finished = finish(child);
		await Promise.race([stalled, finished]);
		child.kill(signal);
		const { code, stdout, stderr } = await finished;
		t.is(code, exitCode, stderr);
		t.regex(stdout, /Execution Summary/);
		t.deepEqual(runLines(stdout), []);
		t.false(existsSync(join(directory, 'index.html')));
	});
}
