// Sets up what is out of date and runs the mutex watershed pipeline; arguments go to the example.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { root, script } from './process.mjs';
import { setUp } from './setup.mjs';

script(async () => {
	await setUp();
	const example = join(root, 'examples/mutex-watershed/dist/main.js');
	const child = spawn(process.execPath, [example, ...process.argv.slice(2)], { stdio: 'inherit' });
	// The terminal signals the whole group; the example decides how it ends and this script reports it.
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
	child.on('close', (code, signal) => {
		process.exitCode = code ?? 128 + constants.signals[signal];
	});
});
