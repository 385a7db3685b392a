import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it. One step at a time: the recursive `mkdir` of Node never ends where a system answers
 * "no such file" for a folder that can't be made, as `/proc` does.
 */
export function makeFolder(path: string): void {
	if (isFolder(path)) return;
	const parent = dirname(path);
	if (parent !== path) makeFolder(parent);
	try {
		mkdirSync(path);
	} catch (error) {
		// another worker's start may have been faster
		if (!isFolder(path)) throw error;
	}
}

function isFolder(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
