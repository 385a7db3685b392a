// Sets up what is out of date and runs a benchmark: `npm run bench -- drain --quick`.
import { run, script } from './process.mjs';
import { setUp } from './setup.mjs';

script(async () => {
	await setUp();
	await run('node', ['benchmark/main.js', ...process.argv.slice(2)]);
});
