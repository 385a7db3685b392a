// The Python environment with the real daisy 2.0.0, with which the interchange tests of the tracking store run.
import { spawnSync } from 'node:child_process';
import { preparePeer } from '../benchmark/peers/python.js';

/**
 * Makes the environment where that can be done.
 *
 * @returns {Promise<Record<string, string>>} environment variables for the tests: they must run against daisy
 *   then; none, after printing why, where there is no Python
 */
export async function daisyEnvironment() {
	if (process.env.BELLIS_DAISY_PYTHON) return { BELLIS_REQUIRE_DAISY: '1' };
	const found = spawnSync('python3', ['--version'], { encoding: 'utf8' });
	if (found.error || found.status !== 0) return without(`no python3 was found`);
	try {
		const python = await preparePeer('daisy-2.0.0');
		return { BELLIS_DAISY_PYTHON: python, BELLIS_REQUIRE_DAISY: '1' };
	} catch (error) {
		const reason = String(error.stderr || error.message)
			.trim()
			.split('\n')
			.at(-1);
		return without(`its environment can't be made with ${found.stdout.trim()}: ${reason}`);
	}
}

function without(reason) {
	console.error(`\ndaisy 2.0.0 is not compared with: ${reason}`);
	return {};
}
