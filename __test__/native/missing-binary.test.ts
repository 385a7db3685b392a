import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Imports the sources from a folder without binaries, or with `binary` as this machine's, and gives the error. */
async function importWithout(binary?: string): Promise<{ code: string; message: string }> {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-missing-'));
	try {
		for (const name of ['src', 'binding.cjs', 'package.json']) {
			cpSync(join(root, name), join(folder, name), { recursive: true });
		}
		mkdirSync(join(folder, 'node_modules'));
		symlinkSync(join(root, 'node_modules', 'tsx'), join(folder, 'node_modules', 'tsx'));
		const env = { ...process.env };
		delete env.NODE_OPTIONS;
		if (binary !== undefined) {
			const path = join(folder, 'broken.node');
			writeFileSync(path, binary);
			env.NAPI_RS_NATIVE_LIBRARY_PATH = path;
		}
		const program = `import(${JSON.stringify(join(folder, 'src', 'native.ts'))}).then(
			() => { throw new Error('loaded') },
			({ code, message }) => console.log(JSON.stringify({ code, message })),
		)`;
		const args = ['--import=tsx', '--input-type=module', '-e', program];
		const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
		return JSON.parse(stdout);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

test('a missing binary is named with platform, architecture, libc and what to do', async (t) => {
	const { code, message } = await importWithout();
	t.is(code, 'ERR_BELLIS_NATIVE');
	t.true(message.includes(`${process.platform} on ${process.arch}`));
	if (process.platform === 'linux') t.regex(message, /with (glibc|musl)/);
	t.true(message.includes(`'bellis-${process.platform}-${process.arch}`));
	t.true(message.includes('npm install'));
	t.false(message.includes('was found'));
});

test('a binary that cannot be loaded is told apart from a missing one', async (t) => {
	const { code, message } = await importWithout('not a library');
	t.is(code, 'ERR_BELLIS_NATIVE');
	t.true(message.includes("A binary was found and can't be loaded"), message);
});
