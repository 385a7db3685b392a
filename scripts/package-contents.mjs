// Fails when `npm pack` would ship anything but the library, or leave out what its manifest points to.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, script } from './process.mjs';

const allowed = [
	/^dist\/.+\.(js|d\.ts|js\.map)$/,
	/^(index\.d\.ts|binding\.cjs|binding\.d\.cts|package\.json)$/,
	/^(README|CHANGELOG|LICENSE)(\.md)?$/,
];

script(async () => {
	const { output } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
		capture: true,
	});
	const parsed = JSON.parse(output.slice(output.search(/^[[{]/m)));
	const [packed] = Array.isArray(parsed) ? parsed : Object.values(parsed);
	const files = packed.files.map(({ path }) => path);
	const stray = files.filter((path) => !allowed.some((pattern) => pattern.test(path)));
	if (stray.length > 0) throw new Error(`the package would ship ${stray.join(', ')}`);

	const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
	const pointed = [
		manifest.types,
		manifest.exports['.'].types,
		manifest.exports['.'].default,
		...Object.values(manifest.bin),
		'binding.cjs',
		'LICENSE',
		'README.md',
	].map((path) => path.replace(/^\.\//, ''));
	const missing = pointed.filter((path) => !files.includes(path));
	if (missing.length > 0) throw new Error(`the package would lack ${missing.join(', ')}`);
	console.log(`package contents: ${files.length} files, ${packed.unpackedSize} bytes unpacked`);
});
