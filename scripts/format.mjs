// Formats both languages in place.
import { run, script } from './process.mjs';
import { installPackages } from './setup.mjs';

script(async () => {
	await installPackages();
	await run('cargo', ['fmt', '--all']);
	await run('npx', ['biome', 'check', '--write', '.']);
});
