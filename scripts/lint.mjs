// Every check of the code's form: rustfmt, clippy, rustdoc, biome, import direction.
import { pathToFileURL } from 'node:url';
import { run, script } from './process.mjs';
import { installPackages } from './setup.mjs';

/** Runs all linters; throws at the first that complains. */
export async function lint() {
	await installPackages();
	await run('cargo', ['fmt', '--all', '--check']);
	await run('cargo', [
		'clippy',
		'--workspace',
		'--all-targets',
		'--locked',
		'--',
		'-D',
		'warnings',
	]);
	await run('cargo', ['doc', '--workspace', '--no-deps', '--locked'], {
		env: { RUSTDOCFLAGS: '-D warnings' },
	});
	await run('npx', ['biome', 'ci', '--error-on-warnings', '.']);
	await run('node', ['scripts/import-direction.mjs']);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) script(lint);
