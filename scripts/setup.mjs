// All set-up of a checkout: npm packages, the addon, the TypeScript build. Does only what is out of date.
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, script } from './process.mjs';
import { unlessUpToDate } from './stamp.mjs';

const has = (path) => existsSync(join(root, path));
const hasAddon = () => readdirSync(root).some((name) => name.endsWith('.node'));

/** Installs the locked npm packages. A `node_modules` that is a link is another checkout's, and npm would empty it. */
export async function installPackages() {
	const modules = lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false });
	if (modules?.isSymbolicLink() && has('node_modules/typescript')) return;
	await unlessUpToDate(
		'packages',
		['package-lock.json'],
		() => has('node_modules/typescript'),
		async () => {
			await run('npm', ['ci', '--no-audit', '--no-fund']);
		},
	);
}

/** Builds the addon and its generated declarations (release profile). */
export async function buildAddon() {
	const inputs = ['crates', 'Cargo.toml', 'Cargo.lock', 'package-lock.json'];
	await unlessUpToDate('addon', inputs, hasAddon, async () => {
		await run('npm', ['run', '--silent', 'build:native']);
	});
}

/** Compiles `src` to `dist`. */
export async function buildTypeScript() {
	const inputs = ['src', 'tsconfig.json', 'binding.d.cts', 'package-lock.json'];
	await unlessUpToDate(
		'typescript',
		inputs,
		() => has('dist/index.js'),
		async () => {
			await run('npx', ['tsc', '-p', 'tsconfig.json']);
		},
	);
}

/** Compiles the example, whose workers must start without a loader. */
export async function buildExample() {
	const example = 'examples/mutex-watershed';
	const inputs = [
		`${example}/src`,
		`${example}/tsconfig.json`,
		'tsconfig.json',
		'src',
		'index.d.ts',
	];
	await unlessUpToDate(
		'example',
		inputs,
		() => has(`${example}/dist/main.js`),
		async () => {
			await run('npx', ['tsc', '-p', `${example}/tsconfig.json`]);
		},
	);
}

/** Brings the checkout to where tests, the demo and the benchmarks can run. */
export async function setUp() {
	await installPackages();
	await buildAddon();
	await buildTypeScript();
	await buildExample();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) script(setUp);
