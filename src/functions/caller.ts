import { findSourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Where a call stands in the user's program. */
export interface CallPlace {
	/** URL of the file; that of the working directory where there is none, as in a REPL. */
	readonly url: string;
	/** Line in the file, counted from 1, also where a loader changed its text. */
	readonly line: number;
	/** Whether the URL is that of a file. */
	readonly known: boolean;
}

/**
 * Where the function that called `callee` stands.
 *
 * @param callee a function that is running; what it called is not looked at
 */
// biome-ignore lint/complexity/noBannedTypes: any function will do here
export function callerOf(callee: Function): CallPlace {
	const { prepareStackTrace, stackTraceLimit } = Error;
	const holder: { stack?: unknown } = {};
	try {
		// the places as Node sees them, not as source maps would show them
		Error.prepareStackTrace = (_, sites) => sites;
		Error.stackTraceLimit = 10;
		Error.captureStackTrace(holder, callee);
		for (const site of holder.stack as NodeJS.CallSite[]) {
			const file = site.getFileName() ?? site.getEvalOrigin();
			if (!file || file.startsWith('node:')) continue;
			const url = urlOf(file);
			if (url !== null) return { url, line: lineOf(site, file, url), known: true };
		}
	} finally {
		Error.prepareStackTrace = prepareStackTrace;
		Error.stackTraceLimit = stackTraceLimit;
	}
	return { url: pathToFileURL(`${process.cwd()}/`).href, line: 1, known: false };
}

function lineOf(site: NodeJS.CallSite, file: string, url: string): number {
	const line = site.getLineNumber() ?? 1;
	const entry = findSourceMap(file)?.findEntry(line - 1, (site.getColumnNumber() ?? 1) - 1);
	// a map to another file is a compiler's: then the file that runs has lines of its own
	return entry !== undefined && 'originalLine' in entry && entry.originalSource === url
		? entry.originalLine + 1
		: line;
}

function urlOf(file: string): string | null {
	try {
		// without the query with which loaders tell versions of a module apart
		if (file.startsWith('file:')) return pathToFileURL(fileURLToPath(new URL(file))).href;
	} catch {
		return null;
	}
	return /^([/\\]|[a-zA-Z]:[/\\])/.test(file) ? pathToFileURL(file).href : null;
}
