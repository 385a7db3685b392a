import { execFile } from 'node:child_process';
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { packAll, platformManifests } from '../scripts/pack.mjs';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
	name: string;
	version: string;
	os: string[];
	cpu: string[];
	libc?: string[];
	main: string;
	files: string[];
	engines: Record<string, string>;
	napi: { targets: string[] };
	optionalDependencies?: Record<string, string>;
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const library = JSON.parse(read('package.json')) as Manifest;
const platforms = platformManifests() as Map<string, Manifest>;

test('every part of a release has the same version', (t) => {
	const workspace = /\[workspace\.package\]\nversion = "([^"]+)"/.exec(read('Cargo.toml'))?.[1];
	t.is(workspace, library.version);
	const lock = JSON.parse(read('package-lock.json')) as Manifest;
	t.is(lock.version, library.version);
	for (const { name, version } of platforms.values()) t.is(version, library.version, name);
	t.true(read('binding.cjs').includes(`'${library.version}'`));
});

test('there is a platform package for each target, and it says for what it is', (t) => {
	const named: Record<string, string> = {
		'x86_64-unknown-linux-gnu': 'linux-x64-gnu',
		'aarch64-unknown-linux-gnu': 'linux-arm64-gnu',
		'x86_64-unknown-linux-musl': 'linux-x64-musl',
		'aarch64-unknown-linux-musl': 'linux-arm64-musl',
		'x86_64-apple-darwin': 'darwin-x64',
		'aarch64-apple-darwin': 'darwin-arm64',
		'x86_64-pc-windows-msvc': 'win32-x64-msvc',
	};
	t.deepEqual(library.napi.targets.map((target) => named[target]).sort(), [...platforms.keys()]);
	for (const [platform, manifest] of platforms) {
		const [os, cpu, abi] = platform.split('-');
		t.is(manifest.name, `bellis-${platform}`);
		t.deepEqual(manifest.os, [os!]);
		t.deepEqual(manifest.cpu, [cpu!]);
		const libc = { gnu: ['glibc'], musl: ['musl'] }[abi ?? ''];
		t.deepEqual(manifest.libc, libc);
		t.is(manifest.main, `bellis.${platform}.node`);
		t.deepEqual(manifest.files, [manifest.main]);
		t.deepEqual(manifest.engines, library.engines);
	}
});

test('platform packages are dependencies of what is packed, and not of the checkout', (t) => {
	t.is(library.optionalDependencies, undefined);
});

/** The program file of npm, wherever the one on the PATH leads. */
function npmProgram(): string {
	for (const folder of process.env.PATH!.split(delimiter)) {
		const npm = join(folder, 'npm');
		if (existsSync(npm)) return realpathSync(npm);
	}
	throw new Error('npm is not on the PATH');
}

// Needs what `npm run build` makes, and the registry (or npm's cache) for the library's own dependencies.
test('the packed packages install without scripts or a compiler, and work from ESM and CommonJS', async (t) => {
	t.timeout(120_000);
	const folder = mkdtempSync(join(tmpdir(), 'bellis-package-'));
	t.teardown(() => rmSync(folder, { recursive: true, force: true }));
	const packed = await packAll(join(folder, 'tarballs'));
	const tarballs = Object.values(packed.platforms);
	t.is(tarballs.length, 1, 'only the binary for this machine is built in a checkout');

	const bin = join(folder, 'bin');
	mkdirSync(bin);
	symlinkSync(process.execPath, join(bin, 'node'));
	t.deepEqual(readdirSync(bin), ['node']);
	const { HOME, npm_config_cache: cache } = process.env;
	const env = { PATH: bin, HOME, ...(cache && { npm_config_cache: cache }) };
	const project = join(folder, 'project');
	mkdirSync(project);
	writeFileSync(join(project, 'package.json'), '{ "private": true }');
	const run = (...args: string[]) => execute(process.execPath, args, { cwd: project, env });

	const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
	await run(npmProgram(), 'install', ...flags, packed.library, ...tarballs);
	const installed = JSON.parse(
		readFileSync(join(project, 'node_modules', 'bellis', 'package.json'), 'utf8'),
	) as Manifest;
	const [platform] = Object.keys(packed.platforms);
	t.deepEqual(installed.optionalDependencies, { [`bellis-${platform}`]: library.version });

	// The README's first example, as `__test__/readme.test.ts` has it.
	for (const file of ['main.mjs', 'smooth.mjs', 'task.mjs']) {
		cpSync(join(root, 'examples/quickstart', file), join(project, file));
	}
	const bellis = join('node_modules', '.bin', 'bellis');
	const quickstart: [args: string[], stdout: RegExp][] = [
		[['main.mjs'], /^ {4}smooth ✔ +64 +64 +0 +0 +0$/m],
		[[bellis, 'status', 'tracking/smooth'], /^ {4}done {6}64 \(100\.0%\)$/m],
		[[bellis, 'reset', 'tracking/smooth'], /^removed .*tracking\/smooth$/m],
		[[bellis, 'run', 'task.mjs', '--workers', '2'], /smooth {3}64 blocks, 2 workers/],
	];
	for (const [args, expected] of quickstart) t.regex((await run(...args)).stdout, expected);

	// A block waits until both workers have one, so that neither can do all.
	const work = `
		import { readdirSync, writeFileSync } from 'node:fs';
		import { setTimeout } from 'node:timers/promises';
		export default async function ({ id }, { config: folder }) {
			writeFileSync(folder + '/' + process.pid, '');
			while (readdirSync(folder).length < 2) await setTimeout(5);
		}
	`;
	writeFileSync(join(project, 'work.mjs'), work);
	const use = `
		const region = (extent) => new bellis.Roi([0], [extent]);
		const task = new bellis.Task({
			taskId: 'four', totalRoi: region(40), readRoi: region(10), writeRoi: region(10), maxWorkers: 2,
			processFunction: ${JSON.stringify(join(project, 'work.mjs'))}, config: process.argv[2],
		});
		const options = { returnStates: true, progress: false, summary: false, logDir: null };
		bellis.runBlockwise(task, options).then(({ four }) => {
			console.log(four.completed + ' blocks by ' + four.workerStarts + ' workers');
		});
	`;
	writeFileSync(join(project, 'esm.mjs'), `import * as bellis from 'bellis';\n${use}`);
	writeFileSync(join(project, 'commonjs.cjs'), `const bellis = require('bellis');\n${use}`);
	for (const program of ['esm.mjs', 'commonjs.cjs']) {
		const seen = join(folder, `seen-by-${program}`);
		mkdirSync(seen);
		const { stdout, stderr } = await run('--disable-warning=ExperimentalWarning', program, seen);
		t.is(stdout, '4 blocks by 2 workers\n', program);
		t.is(stderr, '', program);
		t.is(readdirSync(seen).length, 2, program);
	}
});
