import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const fixture = (name: string) =>
	fileURLToPath(new URL(`../fixtures/functions/${name}`, import.meta.url));

async function printed(args: string[], env: Record<string, string> = {}) {
	const { NODE_OPTIONS: _, ...inherited } = process.env;
	return promisify(execFile)(process.execPath, args, { env: { ...inherited, ...env } });
}

const expected = { stdout: '5 half Adder 6 a/b\n', stderr: '' };

test('an inline function is shipped under plain node', async (t) => {
	t.deepEqual(await printed([fixture('ship-inline.mjs')]), expected);
});

test('an inline function is shipped under tsx', async (t) => {
	t.deepEqual(await printed(['--import=tsx', fixture('ship-inline.ts')]), {
		stdout: 'X/1 b shout Greeter named x/1 a/b\n',
		stderr: '',
	});
	t.deepEqual(await printed(['--import=tsx', fixture('ship-inline.mjs')]), expected);
});

test('an inline function is shipped under the coverage of V8, which c8 reads', async (t) => {
	const directory = await mkdtemp(join(tmpdir(), 'bellis-'));
	t.teardown(() => rm(directory, { recursive: true, force: true }));
	t.deepEqual(
		await printed([fixture('ship-inline.mjs')], { NODE_V8_COVERAGE: directory }),
		expected,
	);
});
