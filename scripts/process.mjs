// Runs a command of the build and stops the script with its exit code when it fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The checkout's root directory, with a trailing separator. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Longest that one command may take; the whole gate is meant to end within 20 minutes. */
const longestMs = 30 * 60_000;
/** How long output may still come after a command has ended: a process that it left behind can hold the pipe for ever. */
const drainMs = 10_000;

/**
 * Runs a command in the checkout, with its output shown (and kept when `capture` is set).
 *
 * @param {string} command program to run
 * @param {string[]} args its arguments
 * @param {{ env?: Record<string, string>, capture?: boolean, cwd?: string, allowFailure?: boolean }} [options]
 * @returns {Promise<{ code: number, output: string }>} exit code, and what it printed when captured
 */
export function run(command, args, options = {}) {
	const { env = {}, capture = false, cwd = root, allowFailure = false } = options;
	console.error(`\n> ${command} ${args.join(' ')}`);
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			cwd,
			env: { ...process.env, ...env },
			stdio: ['ignore', capture ? 'pipe' : 'inherit', capture ? 'pipe' : 'inherit'],
			// npm and npx are scripts with another extension on Windows.
			shell: process.platform === 'win32',
		});
		let output = '';
		for (const [from, to] of [
			[child.stdout, process.stdout],
			[child.stderr, process.stderr],
		]) {
			from?.setEncoding('utf8').on('data', (text) => {
				output += text;
				to.write(text);
			});
		}
		const limit = setTimeout(() => child.kill('SIGKILL'), longestMs);
		child.on('error', (error) => {
			clearTimeout(limit);
			reject(new Error(`cannot start ${command}: ${error.message}`));
		});
		child.on('exit', () => {
			clearTimeout(limit);
			const drain = setTimeout(() => {
				child.stdout?.destroy();
				child.stderr?.destroy();
			}, drainMs);
			drain.unref();
			child.on('close', () => clearTimeout(drain));
		});
		child.on('close', (code, signal) => {
			const status = code ?? 1;
			if (status !== 0 && !allowFailure) {
				reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? `code ${status}`}`));
			} else {
				resolve({ code: status, output });
			}
		});
	});
}

/** Runs `main` and turns a rejection into one line and exit code 1. */
export function script(main) {
	main().catch((error) => {
		console.error(`\nfailed: ${error.message}`);
		process.exitCode = 1;
	});
}
