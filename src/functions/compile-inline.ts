import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { IMPORT_META } from './import-meta.js';
import { loaderHelper } from './loader-helpers.js';
import type { EncodedFunction } from './reference.js';

// biome-ignore lint/suspicious/noExplicitAny: what a user's function takes is checked by its type there
export type Callable = (...args: any[]) => unknown;

/** With this, `import()` in a script starts from its file and goes through this process's loaders. */
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;

type EncodedInline = Extract<EncodedFunction, { kind: 'inline' }>;

/** Makes a function from its text, as if it stood in the file where it was written. */
export async function compileInline(encoded: EncodedInline): Promise<Callable> {
	if (/\bimport\b/.test(encoded.source)) await silenceImportWarning();
	const { place } = encoded;
	const file = place.known ? fileURLToPath(place.url) : null;
	const head = `(function (${encoded.given.join(', ')}) {${encoded.strict ? '"use strict";' : ''} return (`;
	const { line, column } = positionIn(file, encoded);
	const script = new vm.Script(`${head}${encoded.source}\n);})`, {
		filename: place.known ? place.url : `${place.url}[inline]`,
		lineOffset: line,
		columnOffset: column - head.length,
		importModuleDynamically,
	});
	const make = script.runInThisContext() as (...given: unknown[]) => Callable;
	return make(...encoded.given.map((name) => givenValue(name, place.url, file)));
}

/** Where the function stands in its file, counted from 0; near its task where that isn't known. */
function positionIn(file: string | null, encoded: EncodedInline): { line: number; column: number } {
	const nearby = { line: encoded.place.line - 1, column: 0 };
	if (file === null) return nearby;
	let text: string;
	try {
		text = readFileSync(file, 'utf8');
	} catch {
		return nearby;
	}
	const at = text.indexOf(encoded.original);
	if (at < 0) return nearby;
	const before = text.slice(0, at).split('\n');
	return { line: before.length - 1, column: before.at(-1)!.length };
}

function givenValue(name: string, url: string, file: string | null): unknown {
	const path = file ?? fileURLToPath(url);
	switch (name) {
		case 'require':
			return createRequire(url);
		case '__filename':
			return path;
		case '__dirname':
			return dirname(path);
		case IMPORT_META:
			return { url, filename: path, dirname: dirname(path) };
		default:
			return loaderHelper(name);
	}
}

let silenced: Promise<void> | undefined;

/**
 * Node 20 and 22 warn once in a process that import() in a script is experimental, which means nothing
 * to a user who wrote a function: so the one warning is used up here.
 */
function silenceImportWarning(): Promise<void> {
	silenced ??= (async () => {
		const { emitWarning } = process;
		process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
			if (String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) return;
			(emitWarning as (...all: unknown[]) => void).call(process, warning, ...rest);
		};
		try {
			await new vm.Script("import('node:url')", { importModuleDynamically }).runInThisContext();
		} finally {
			process.emitWarning = emitWarning;
		}
	})();
	return silenced;
}
