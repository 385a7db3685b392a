import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { ModuleError, type ModuleProblem } from '../errors.js';
import { showValue } from '../show-value.js';
import { IMPORT_META } from './inline.js';
import { loaderHelper } from './loader-helpers.js';
import type {
	EncodedFunction,
	FunctionReference,
	FunctionRole,
	ModuleFunction,
} from './reference.js';

// biome-ignore lint/suspicious/noExplicitAny: what a user's function takes is checked by its type there
type Callable = (...args: any[]) => unknown;

/** A task's function, ready to be called, and what its module wants called around it. */
export interface LoadedFunction {
	readonly role: FunctionRole;
	readonly run: Callable;
	/** Called once in a worker before its first block. */
	readonly setup: Callable | null;
	/** Called once in a worker after its last block. */
	readonly teardown: Callable | null;
}

/**
 * Loads what `encodeFunction` wrote, in a worker.
 *
 * @throws ModuleError when the module doesn't exist, throws, or lacks the export
 */
export async function loadFunction(text: string): Promise<LoadedFunction> {
	const encoded = JSON.parse(text) as EncodedFunction;
	return encoded.kind === 'module'
		? loadModule(encoded, encoded.role)
		: { role: encoded.role, run: compileInline(encoded), setup: null, teardown: null };
}

/** Loads a task's function in the driver's own process; an inline function is taken as it is. */
export async function loadInProcess(reference: FunctionReference): Promise<LoadedFunction> {
	const { origin, inline, role } = reference;
	if (origin.kind === 'module') return loadModule(origin, role);
	return { role, run: inline as Callable, setup: null, teardown: null };
}

type Exports = Record<string, unknown>;

async function loadModule(module: ModuleFunction, role: FunctionRole): Promise<LoadedFunction> {
	let exports: Exports;
	try {
		exports = await import(module.url);
	} catch (cause) {
		throw importFailure(module, cause);
	}
	const run = exportOf(exports, module.exportName);
	if (typeof run !== 'function') {
		const given = Object.keys(exports).filter((name) => name !== 'module.exports');
		throw run === undefined
			? problem(
					module,
					'no-export',
					`has no export ${JSON.stringify(module.exportName)}; it has ${given.join(', ') || 'none'}`,
				)
			: problem(
					module,
					'not-a-function',
					`has an export ${JSON.stringify(module.exportName)} that is no function but ${showValue(run)}`,
				);
	}
	return {
		role,
		run: run as Callable,
		setup: hookOf(exports, 'setup', module),
		teardown: hookOf(exports, 'teardown', module),
	};
}

/** An export by name, also of a CommonJS module whose names Node didn't find or that was ESM once. */
function exportOf(exports: Exports, name: string): unknown {
	const whole = exports.default as Exports | undefined;
	const direct = exports[name];
	if (name === 'default') {
		const compiled = typeof whole === 'object' && whole !== null && '__esModule' in whole;
		return compiled ? whole.default : direct;
	}
	const holds = (typeof whole === 'object' && whole !== null) || typeof whole === 'function';
	return direct === undefined && holds && Object.hasOwn(whole, name) ? whole[name] : direct;
}

function hookOf(
	exports: Exports,
	name: 'setup' | 'teardown',
	module: ModuleFunction,
): Callable | null {
	// a module whose function is called setup doesn't mean it as a hook
	const hook = module.exportName === name ? undefined : exportOf(exports, name);
	if (hook === undefined) return null;
	if (typeof hook === 'function') return hook as Callable;
	throw problem(
		{ ...module, exportName: name },
		'not-a-function',
		`has an export "${name}" that is no function but ${showValue(hook)}`,
	);
}

function importFailure(module: ModuleFunction, cause: unknown): ModuleError {
	const code = (cause as { code?: unknown } | null)?.code;
	if (code === 'ERR_MODULE_NOT_FOUND' && missingFile(module.url)) {
		return problem(module, 'not-found', "doesn't exist", cause);
	}
	if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?$/.test(new URL(module.url).pathname)) {
		return problem(
			module,
			'typescript',
			"is TypeScript, which this Node can't load; start your program with node --import tsx, or pass the compiled file",
			cause,
		);
	}
	const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : showValue(cause);
	return problem(module, 'threw', `threw when it was imported: ${text}`, cause);
}

/** Whether a URL is that of a file that doesn't exist. */
export function missingFile(url: string): boolean {
	return url.startsWith('file:') && !existsSync(fileURLToPath(url));
}

function problem(
	module: ModuleFunction,
	kind: ModuleProblem,
	text: string,
	cause?: unknown,
): ModuleError {
	return new ModuleError(`the module ${shownUrl(module.url)} ${text}`, {
		module: module.url,
		exportName: module.exportName,
		problem: kind,
		cause,
	});
}

/** A module's URL as people know it: a file by its path, data cut short. */
export function shownUrl(url: string): string {
	if (url.startsWith('file:')) return fileURLToPath(url);
	return url.length > 60 ? `${url.slice(0, 57)}...` : url;
}

type EncodedInline = Extract<EncodedFunction, { kind: 'inline' }>;

/** Makes a function from its text, as if it stood in the file where it was written. */
function compileInline(encoded: EncodedInline): Callable {
	const { place } = encoded;
	const file = place.known ? fileURLToPath(place.url) : null;
	const head = `(function (${encoded.given.join(', ')}) {${encoded.strict ? '"use strict";' : ''} return (`;
	const { line, column } = positionIn(file, encoded);
	const script = new vm.Script(`${head}${encoded.source}\n);})`, {
		filename: place.known ? place.url : `${place.url}[inline]`,
		lineOffset: line,
		columnOffset: column - head.length,
		// import() in it resolves from its file, through the loaders of this process
		importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
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
