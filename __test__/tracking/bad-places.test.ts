import { spawnSync } from 'node:child_process';
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import type { TaskOptions } from '../../src/task/task.js';
import { fixture, line, Scratch } from '../end-to-end/scratch.js';
import { observe } from './observed-run.js';

/** A zarr document of an array that holds one uint8 for each of two cells, with changes. */
const array = (more: object = {}) =>
	JSON.stringify({
		zarr_format: 3,
		node_type: 'array',
		shape: [2],
		data_type: 'uint8',
		chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
		chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
		fill_value: 0,
		codecs: [{ name: 'bytes' }],
		...more,
	});
const GROUP = '{"zarr_format":3,"node_type":"group"}';
const FOREIGN = '{"zarr_format":3,"node_type":"group","attributes":{"title":"my data"}}';

/** Writes files below a folder. */
function write(folder: string, files: Record<string, string>): void {
	for (const [name, content] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), content);
	}
}

/** All that lies below a folder, with its content. */
function contents(folder: string): Record<string, string | null> {
	return Object.fromEntries(
		readdirSync(folder, { recursive: true, withFileTypes: true })
			.map((entry) => join(entry.parentPath, entry.name))
			.sort()
			.map((path) => {
				try {
					return [path, readFileSync(path, 'utf8')];
				} catch {
					return [path, null];
				}
			}),
	);
}

interface BadPlace {
	readonly make: (place: string) => void;
	readonly message: RegExp;
	readonly code?: string;
}

const places: Record<string, BadPlace> = {
	'a file': {
		make: (place) => writeFileSync(place, 'mine'),
		message: /is a file, not a directory/,
	},
	'below a file': {
		make: (place) => {
			writeFileSync(dirname(place), 'mine');
		},
		message: /(Not a directory|not a directory)/i,
	},
	'a broken link': {
		make: (place) => symlinkSync(join(dirname(place), 'nowhere'), place),
		message: /link to something that does not exist/,
	},
	'a link in a circle': {
		make: (place) => symlinkSync(place, place),
		message: /symbolic links|link/i,
	},
	"another program's zarr array": {
		make: (place) => write(place, { 'zarr.json': array(), 'c/0': 'ab' }),
		message: /zarr array of another program/,
	},
	"another program's zarr group": {
		make: (place) =>
			write(place, { 'zarr.json': FOREIGN, 'raw/zarr.json': array(), 'raw/c/0': 'ab' }),
		message: /zarr group without a layout hash and `done`/,
	},
	"daisy's store of before 2.0": {
		make: (place) =>
			write(place, {
				'zarr.json': array({ attributes: { daisy_task_hash: 'ab12' } }),
				'c/0': 'ab',
			}),
		message: /bare zarr array/,
		code: 'ERR_BELLIS_LAYOUT_MISMATCH',
	},
	'a group of another type': {
		make: (place) =>
			write(place, { 'zarr.json': GROUP, 'done/zarr.json': array({ data_type: 'uint16' }) }),
		message: /uint16/,
	},
	'a group of another shape': {
		make: (place) =>
			write(place, {
				'zarr.json': GROUP,
				'done/zarr.json': array({
					shape: [3],
					chunk_grid: { name: 'regular', configuration: { chunk_shape: [3] } },
				}),
			}),
		message: /shape/,
	},
	'a directory with files of others': {
		make: (place) => write(place, { 'thesis.md': 'years of work', 'data/raw': 'x' }),
		message: /not a tracking store and nothing in it was touched/,
	},
	'arrays without the document of their group': {
		make: (place) => write(place, { 'done/zarr.json': array(), 'done/c/0': '\u0001\u0001' }),
		message: /has arrays but no zarr\.json/,
	},
};

for (const [what, { make, message, code = 'ERR_BELLIS_STORE' }] of Object.entries(places)) {
	test(`a tracking path that is ${what} is refused before any block, and untouched`, async (t) => {
		const scratch = new Scratch(t);
		mkdirSync(scratch.path('data'));
		const trackingPath =
			what === 'below a file' ? scratch.path('data/a/b') : scratch.path('data/a');
		make(trackingPath);
		const before = contents(scratch.path('data'));
		for (const multiprocessing of [true, false]) {
			const task = line(scratch, 2, {}, { trackingPath });
			const options = { ...scratch.quiet, multiprocessing };
			const error = await t.throwsAsync(runBlockwise(task, options), { code, message });
			t.true(error!.message.includes(scratch.path('data')), error!.message);
			// not even by asking to start afresh
			if (code === 'ERR_BELLIS_STORE') {
				const fresh = line(scratch, 2, {}, { trackingPath, onLayoutMismatch: 'recreate' });
				await t.throwsAsync(runBlockwise(fresh, options), { code });
			}
		}
		t.deepEqual(scratch.lines(), []);
		t.deepEqual(contents(scratch.path('data')), before);
	});
}

for (const name of [
	'日本 のデータ',
	'with spaces  and tabs\tin it',
	'quotes \' and " and $HOME and `x`',
	'%41?#&;*[a]',
	'.hidden',
	'é (composed) and e\u0301 (not)',
]) {
	test(`a tracking path called ${JSON.stringify(name)} works, and the line that deletes it is quoted`, async (t) => {
		const scratch = new Scratch(t);
		const trackingPath = scratch.path(name);
		const run = (more: Partial<TaskOptions> = {}) =>
			observe(line(scratch, 2, {}, { trackingPath, ...more }), {
				...scratch.quiet,
				multiprocessing: false,
			});
		t.is((await run()).state.skipped, 0);
		t.is((await run()).state.skipped, 2);
		t.true(existsSync(join(trackingPath, 'done/c/0')));
		const error = await t.throwsAsync(run({ fit: 'shrink' }), {
			code: 'ERR_BELLIS_LAYOUT_MISMATCH',
		});
		t.regex(error!.message, /rm -rf \S/);
		t.is((await run({ fit: 'shrink', onLayoutMismatch: 'recreate' })).state.skipped, 0);
		t.is(await line(scratch, 2, {}, { trackingPath, fit: 'shrink' }).reset(), trackingPath);
		t.false(existsSync(trackingPath));
	});
}

test('a name of 300 characters is an error that says so', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('n'.repeat(300));
	await t.throwsAsync(runBlockwise(line(scratch, 1, {}, { trackingPath }), scratch.quiet), {
		code: 'ERR_BELLIS_STORE',
		message: /shorter tracking path/,
	});
	t.deepEqual(scratch.lines(), []);
});

test('a name as long as the file system takes works, also when its volume grows', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('n'.repeat(255));
	const run = (blocks: number) =>
		observe(line(scratch, blocks, {}, { trackingPath }), {
			...scratch.quiet,
			multiprocessing: false,
		});
	t.is((await run(2)).state.skipped, 0);
	t.is((await run(2)).state.skipped, 2);
	t.is((await run(3)).state.skipped, 2);
});

test('a place without permission is an error that says so', (t) => {
	if (process.platform === 'win32') {
		t.log('not checked: a folder has no permissions of this kind on Windows');
		return t.pass();
	}
	const scratch = new Scratch(t);
	const closed = scratch.path('closed');
	mkdirSync(closed);
	chmodSync(scratch.dir, 0o755);
	chmodSync(closed, 0o555);
	// a process of its own, because root has to become somebody else in it
	const program = fileURLToPath(fixture('without-permission.js'));
	const answer = spawnSync(process.execPath, [program, join(closed, 'store')], {
		encoding: 'utf8',
	});
	const told = JSON.parse(answer.stdout || '{}') as Record<string, unknown>;
	t.like(told, { code: 'ERR_BELLIS_STORE', ran: false }, answer.stderr);
	t.not(told.uid, 0);
	t.regex(String(told.message), /write permission/);
	t.deepEqual(readdirSync(closed), []);
	return undefined;
});

/** Two tasks in one run. */
const pair = (scratch: Scratch, first: string, second: string) => [
	line(scratch, 1, {}, { taskId: 'a', trackingPath: first }),
	line(scratch, 1, {}, { taskId: 'b', trackingPath: second }),
];

test('two tasks with one path are refused before anything is made, also by another spelling or a link', async (t) => {
	const scratch = new Scratch(t);
	const store = scratch.path('store');
	for (const other of [store, `${store}/`, scratch.path('x/../store')]) {
		await t.throwsAsync(runBlockwise(pair(scratch, store, other), scratch.quiet), {
			code: 'ERR_BELLIS_VALIDATION',
			message: /"a" and "b" have the same tracking directory/,
		});
		t.false(existsSync(store));
	}
	mkdirSync(store);
	symlinkSync(store, scratch.path('link'));
	for (const multiprocessing of [true, false]) {
		await t.throwsAsync(
			runBlockwise(pair(scratch, store, scratch.path('link')), {
				...scratch.quiet,
				multiprocessing,
			}),
			{ code: 'ERR_BELLIS_VALIDATION', message: /"a" and "b" have the same tracking directory/ },
		);
	}
	t.deepEqual(scratch.lines(), []);
	t.deepEqual(readdirSync(store), []);
});

test('a store inside the store of another task is refused before anything is made', async (t) => {
	const scratch = new Scratch(t);
	const store = scratch.path('store');
	for (const [first, second] of [
		[store, join(store, 'inner')],
		[join(store, 'inner'), store],
		[store, join(store, 'done')],
	] as const) {
		await t.throwsAsync(runBlockwise(pair(scratch, first, second), scratch.quiet), {
			code: 'ERR_BELLIS_VALIDATION',
			message: /inside/,
		});
		t.false(existsSync(store));
	}
});

test('a path inside the log directory works and keeps the logs', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('logs/line/store');
	const run = () => observe(line(scratch, 2, {}, { trackingPath }), scratch.quiet);
	t.is((await run()).state.skipped, 0);
	const again = await run();
	t.is(again.state.skipped, 2);
	t.is((await line(scratch, 2, {}, { trackingPath }).report()).blocks.skipped, 2);
	t.is(await line(scratch, 2, {}, { trackingPath }).reset(), trackingPath);
	t.true(existsSync(scratch.path('logs/line/worker_0.out')));
});

test('a store that is removed while its run is on ends the run with an error', async (t) => {
	const scratch = new Scratch(t);
	const trackingPath = scratch.path('store');
	const deeds = { 1: { do: 'gate', file: scratch.path('go') } };
	const run = runBlockwise(line(scratch, 2, deeds, { trackingPath, maxWorkers: 1 }), scratch.quiet);
	await scratch.made('go.waits.1');
	rmSync(trackingPath, { recursive: true });
	const outcome = t.throwsAsync(run);
	scratch.open('go');
	t.regex((await outcome)!.message, new RegExp(trackingPath));
});
