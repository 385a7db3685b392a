// Packs what a release publishes: the library, and a platform package for each binary that was built.
// `node scripts/pack.mjs [DIRECTORY]` writes the tarballs there (default `.build/packages`).
//
// The library's `optionalDependencies` exist only in what is packed, and name the platform packages packed with
// it: a checkout builds its own binary, and a lockfile must not name versions that are not published yet.
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, script } from './process.mjs';

const readManifest = (path) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));

/** The manifests of all platform packages, by their folder's name (`linux-x64-gnu`). */
export function platformManifests() {
	const platforms = readdirSync(join(root, 'npm')).sort();
	return new Map(platforms.map((platform) => [platform, readManifest(join('npm', platform))]));
}

/** The library's manifest as it is published with these platform packages, without what a checkout needs. */
export function publishedManifest(platforms) {
	const { scripts, devDependencies, napi, ...manifest } = readManifest('.');
	return {
		...manifest,
		optionalDependencies: Object.fromEntries(platforms.map(({ name, version }) => [name, version])),
	};
}

/** Puts `files` and `manifest` into a folder of their own and packs it. Returns the tarball's path. */
async function pack(manifest, files, directory) {
	const stage = mkdtempSync(join(tmpdir(), 'bellis-pack-'));
	try {
		for (const file of files) cpSync(join(root, file), join(stage, file), { recursive: true });
		writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, '\t')}\n`);
		await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], {
			cwd: stage,
		});
	} finally {
		rmSync(stage, { recursive: true, force: true });
	}
	return join(directory, `${manifest.name}-${manifest.version}.tgz`);
}

/**
 * Packs the library and every platform package whose binary lies in the checkout.
 *
 * @param {string} directory where the tarballs go; made when missing
 * @returns {Promise<{ library: string, platforms: Record<string, string> }>} paths of the tarballs
 */
export async function packAll(directory) {
	mkdirSync(directory, { recursive: true });
	const packed = [];
	const platforms = {};
	for (const [platform, manifest] of platformManifests()) {
		if (!existsSync(join(root, manifest.main))) {
			console.error(`no ${manifest.main} here: its package is not packed`);
			continue;
		}
		platforms[platform] = await pack(manifest, [manifest.main, 'LICENSE'], directory);
		packed.push(manifest);
	}
	const manifest = publishedManifest(packed);
	const library = await pack(
		manifest,
		manifest.files.filter((file) => existsSync(join(root, file))),
		directory,
	);
	return { library, platforms };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
	script(async () => {
		const packed = await packAll(resolve(root, process.argv[2] ?? '.build/packages'));
		console.log(JSON.stringify(packed, null, '\t'));
	});
}
