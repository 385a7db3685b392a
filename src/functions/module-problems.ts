import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ModuleError, type ModuleProblem } from '../errors.js';
import type { FunctionReference, ModuleFunction } from './reference.js';

/** What is said about a module that doesn't exist. */
export const MISSING = "doesn't exist";

/** What is said about a module in TypeScript that Node can't load. */
export const UNLOADABLE_TYPESCRIPT =
	"is TypeScript, which a worker of this Node can't load; start your program with node --import tsx, or pass the compiled file";

/**
 * Finds out before a run, without importing anything, what would stop every worker.
 *
 * @param loads whether workers have a loader (then a missing file may be one that it makes up), and
 * whether they can load TypeScript
 * @throws ModuleError for a file that doesn't exist or that is TypeScript and can't be loaded
 */
export function checkModule(
	reference: FunctionReference,
	loads: { loader: boolean; typescript: boolean },
): void {
	const { origin } = reference;
	if (origin.kind !== 'module') return;
	if (!loads.loader && missingFile(origin.url)) {
		throw moduleProblem(origin, 'not-found', MISSING);
	}
	if (!loads.loader && !loads.typescript && isTypeScript(origin.url)) {
		throw moduleProblem(origin, 'typescript', UNLOADABLE_TYPESCRIPT);
	}
}

/** Whether a URL is that of a file that doesn't exist. */
export function missingFile(url: string): boolean {
	return url.startsWith('file:') && !existsSync(fileURLToPath(url));
}

/** Whether a module's name is that of TypeScript. */
export function isTypeScript(url: string): boolean {
	return url.startsWith('file:') && /\.[cm]?tsx?$/.test(new URL(url).pathname);
}

/** An error that names the module. */
export function moduleProblem(
	module: ModuleFunction,
	problem: ModuleProblem,
	text: string,
	cause?: unknown,
): ModuleError {
	return new ModuleError(`the module ${shownUrl(module.url)} ${text}`, {
		module: module.url,
		exportName: module.exportName,
		problem,
		cause,
	});
}

/** A module's URL as people know it: a file by its path, data cut short. */
function shownUrl(url: string): string {
	if (url.startsWith('file:')) return fileURLToPath(url);
	return url.length > 60 ? `${url.slice(0, 57)}...` : url;
}
