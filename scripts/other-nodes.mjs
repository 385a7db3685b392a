// Runs the TypeScript tests on the other supported Node versions, from npm's platform packages of Node.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, script } from './process.mjs';
import { setUp } from './setup.mjs';
import { avaTotals } from './totals.mjs';

/** Major versions besides the one that runs this script, pinned to what CI saw pass. */
const versions = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' };

async function installNode(version) {
	const name = `node-${process.platform}-${process.arch}`;
	const folder = join(root, '.build', `node-${version}`);
	const binary = join(folder, 'node_modules', name, 'bin', 'node');
	if (!existsSync(binary)) {
		mkdirSync(folder, { recursive: true });
		await run('npm', [
			'install',
			'--no-audit',
			'--no-fund',
			'--no-save',
			'--prefix',
			folder,
			`${name}@${version}`,
		]);
	}
	return binary;
}

/** Runs ava on every other supported major version; throws when one fails. */
export async function testOtherNodes() {
	await setUp();
	const own = Number(process.versions.node.split('.')[0]);
	for (const [major, version] of Object.entries(versions)) {
		if (Number(major) === own) continue;
		const binary = await installNode(version);
		const path = `${join(binary, '..')}:${process.env.PATH}`;
		const { output } = await run(binary, ['node_modules/ava/entrypoints/cli.mjs'], {
			capture: true,
			env: { PATH: path },
		});
		const totals = avaTotals(output);
		if (totals.passed === 0 || totals.failed > 0)
			throw new Error(`ava on Node ${version} did not pass`);
		console.log(`ava on Node ${version}: ${totals.passed} passed, ${totals.failed} failed`);
	}
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) script(testOtherNodes);
