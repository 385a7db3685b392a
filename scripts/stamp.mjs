// Remembers what a step was last run on, so that a second call doesn't build again what is up to date.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './process.mjs';

const stamps = join(root, '.build');

function* filesBelow(path) {
	for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) =>
		a.name < b.name ? -1 : 1,
	)) {
		if (entry.name === 'target' || entry.name === 'node_modules') continue;
		const child = join(path, entry.name);
		if (entry.isDirectory()) yield* filesBelow(child);
		else if (entry.isFile()) yield child;
	}
}

/** The SHA-256 over the names and contents of all files below the given paths of the checkout. */
export function digest(paths) {
	const hash = createHash('sha256')
		.update(process.version)
		.update(process.platform)
		.update(process.arch);
	for (const path of paths) {
		const full = join(root, path);
		if (!existsSync(full)) continue;
		const files = statSync(full).isDirectory() ? filesBelow(full) : [full];
		for (const file of files)
			hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
	}
	return hash.digest('hex');
}

/**
 * Runs `step` unless it was last run on the same inputs and all its outputs are there.
 *
 * @param {string} name the stamp's name
 * @param {string[]} inputs files and folders that the step reads
 * @param {() => boolean} hasOutputs whether what the step makes is there
 * @param {() => Promise<void>} step what to run
 */
export async function unlessUpToDate(name, inputs, hasOutputs, step) {
	const file = join(stamps, `${name}.sha256`);
	const before = digest(inputs);
	if (hasOutputs() && existsSync(file) && readFileSync(file, 'utf8') === before) return;
	await step();
	mkdirSync(stamps, { recursive: true });
	// Taken again: a step may rewrite a committed, generated input.
	writeFileSync(file, digest(inputs));
}
