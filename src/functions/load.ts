import type { ModuleError } from '../errors.js';
import { showValue } from '../show-value.js';
import type { Callable } from './compile-inline.js';
import {
	isTypeScript,
	MISSING,
	missingFile,
	moduleProblem,
	UNLOADABLE_TYPESCRIPT,
} from './module-problems.js';
import type {
	EncodedFunction,
	FunctionReference,
	FunctionRole,
	ModuleFunction,
} from './reference.js';

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
	if (encoded.kind === 'module') return loadModule(encoded, encoded.role);
	// a module is what most workers have: they import no more than they need
	const { compileInline } = await import('./compile-inline.js');
	const run = await compileInline(encoded);
	return { role: encoded.role, run, setup: null, teardown: null };
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
			? moduleProblem(
					module,
					'no-export',
					`has no export ${JSON.stringify(module.exportName)}; it has ${given.join(', ') || 'none'}`,
				)
			: moduleProblem(
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
	throw moduleProblem(
		{ ...module, exportName: name },
		'not-a-function',
		`has an export "${name}" that is no function but ${showValue(hook)}`,
	);
}

function importFailure(module: ModuleFunction, cause: unknown): ModuleError {
	const code = (cause as { code?: unknown } | null)?.code;
	if (code === 'ERR_MODULE_NOT_FOUND' && missingFile(module.url)) {
		return moduleProblem(module, 'not-found', MISSING, cause);
	}
	if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && isTypeScript(module.url)) {
		return moduleProblem(module, 'typescript', UNLOADABLE_TYPESCRIPT, cause);
	}
	const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : showValue(cause);
	return moduleProblem(module, 'threw', `threw when it was imported: ${text}`, cause);
}
