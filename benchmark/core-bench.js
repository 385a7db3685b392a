// Runs a bench program of the Rust crates and reads what it prints.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

const seconds = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 };

/**
 * The lines that a bench program prints.
 *
 * @param {string} crate such as `bellis-net`
 * @param {string} name the program
 * @param {string[]} [more] its arguments
 */
export async function benchLines(crate, name, more = []) {
	const { stdout } = await execute(
		'cargo',
		['bench', '--quiet', '-p', crate, '--bench', name, '--', ...more],
		{
			cwd: root,
			maxBuffer: 1 << 24,
		},
	);
	return stdout.split('\n').filter(Boolean);
}

/** Seconds of a duration such as `21.3µs` or `1.2 ms`. */
export function durationSeconds(text) {
	const [, value, unit] = /^([\d.]+) ?(ns|µs|ms|s)$/.exec(text) ?? [];
	if (value === undefined) throw new Error(`no duration: ${text}`);
	return Number(value) * seconds[unit];
}

/**
 * What divan measured: median seconds and number of samples of each case, by `bench/argument`.
 *
 * @param {string[]} lines
 * @returns {Record<string, { seconds: number, samples: number }>}
 */
export function divanMedians(lines) {
	const medians = {};
	let bench = '';
	for (const line of lines) {
		bench = /^[├╰]─ (\w+)/.exec(line)?.[1] ?? bench;
		const [, argument, columns] = /^[│ ]\s+[├╰]─ (\w+)\s+(.+)$/.exec(line) ?? [];
		if (argument === undefined) continue;
		const [, , median, , samples] = columns.split('│').map((column) => column.trim());
		medians[`${bench}/${argument}`] = {
			seconds: durationSeconds(median),
			samples: Number(samples),
		};
	}
	return medians;
}
