import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ValidationError } from '../errors.js';
import type { ResolvedRunOptions } from './options.js';

/**
 * Refuses a log directory that can't be made or written to, before workers fail for it one after the other. Makes nothing:
 * a run that starts no worker leaves no folder.
 *
 * @throws ValidationError
 */
export function checkLogPlace(options: ResolvedRunOptions): void {
	const { logDir, logMode, multiprocessing } = options;
	if (!multiprocessing || logDir === null || (logMode !== 'file' && logMode !== 'both')) return;
	const problem = problemWith(resolve(logDir));
	if (problem === null) return;
	throw new ValidationError(
		`logDir ${logDir} can't hold worker logs: ${problem}. Pass another logDir, or null for no log files`,
		{ path: 'logDir', value: logDir },
	);
}

/** What is wrong with the nearest part of a path that exists; null for nothing. */
function problemWith(path: string): string | null {
	try {
		if (!statSync(path).isDirectory()) return `${path} is no directory`;
		accessSync(path, constants.W_OK | constants.X_OK);
		return null;
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		const parent = dirname(path);
		if (code === 'ENOENT' && parent !== path) return problemWith(parent);
		if (code === 'ENOTDIR' && parent !== path) return problemWith(parent);
		if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return `${path} is not writable`;
		return message;
	}
}
