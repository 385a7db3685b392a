// Runs a benchmark of the wire's crate and reads what it prints.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

const seconds = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 };

/** The lines that a bench program of `bellis-net` prints. */
export async function benchLines(name) {
	const { stdout } = await execute(
		'cargo',
		['bench', '--quiet', '-p', 'bellis-net', '--bench', name],
		{
			cwd: root,
			maxBuffer: 1 << 24,
		},
	);
	return stdout.split('\n').filter(Boolean);
}

/** Seconds of a duration such as `21.3µs`. */
export function durationSeconds(text) {
	const [, value, unit] = /^([\d.]+)(ns|µs|ms|s)$/.exec(text) ?? [];
	if (value === undefined) throw new Error(`no duration: ${text}`);
	return Number(value) * seconds[unit];
}
