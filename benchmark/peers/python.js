// The Python peers: a virtual environment each, made from pinned requirements, and one process a measurement.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const build = fileURLToPath(new URL('../../.build/', import.meta.url));

/** Longest that one measurement of a peer may take, in milliseconds. */
const timeoutMs = 300_000;

/** The peers by the name that results carry. */
const peers = {
	'daisy-2.0.0': { requirements: 'requirements-2.0.0.txt', script: 'daisy_2.py' },
	'daisy-1.2.3': { requirements: 'requirements-1.2.3.txt', script: 'daisy_1.py' },
};

/**
 * Makes a peer's virtual environment when it isn't there or its requirements changed.
 *
 * @param {keyof typeof peers} name
 * @returns {Promise<string>} the environment's Python
 */
export async function preparePeer(name) {
	const requirements = join(here, peers[name].requirements);
	const folder = join(build, `peer-${name}`);
	const python = join(folder, 'bin', 'python');
	const stamp = join(folder, 'requirements.txt');
	const wanted = readFileSync(requirements, 'utf8');
	if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return python;
	await execute('python3', ['-m', 'venv', '--clear', folder], { timeout: timeoutMs });
	await execute(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], {
		timeout: timeoutMs,
	});
	writeFileSync(stamp, wanted);
	return python;
}

/**
 * Runs one measurement in a fresh process of the peer.
 *
 * @param {keyof typeof peers} name
 * @param {object} request what to measure: see the peer's script
 * @returns {Promise<{ blocks: number, seconds: number, [key: string]: number }>}
 */
export async function measurePeer(name, request) {
	const python = await preparePeer(name);
	const { stdout } = await execute(
		python,
		[join(here, peers[name].script), JSON.stringify(request)],
		{
			timeout: timeoutMs,
			maxBuffer: 64 * 1024 * 1024,
			// A peer's numeric library must not be slowed by settings meant for others.
			env: { ...process.env, OPENBLAS_CORETYPE: undefined, OPENBLAS_L2_SIZE: undefined },
		},
	);
	return JSON.parse(stdout.trim().split('\n').at(-1));
}
