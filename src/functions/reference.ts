import { pathToFileURL } from 'node:url';
import { FunctionError, ValidationError } from '../errors.js';
import { showValue } from '../show-value.js';
import { type CallPlace, callerOf } from './caller.js';
import { analyseInline, type InlineFunction, unusableFunction } from './inline.js';

/** A module by URL, `file:` text, absolute path, or path relative to the file that says it. */
export type ModuleLocation = URL | string;

/** A function as a task takes it: a module, an export of a module, or the function itself. */
// biome-ignore lint/complexity/noBannedTypes: any function will do here
export type FunctionOption<Fn extends Function> =
	| ModuleLocation
	| { readonly module: ModuleLocation; readonly export?: string }
	| Fn;

/** A function that is an export of a module. */
export interface ModuleFunction {
	readonly kind: 'module';
	readonly url: string;
	readonly exportName: string;
}

/** Whether a function gets a block, or makes its own client. */
export type FunctionRole = 'block' | 'worker';

/** A task's function: what it is called in the options, and where it comes from. */
export interface FunctionReference {
	readonly role: FunctionRole;
	readonly option: 'processFunction' | 'workerFunction';
	readonly origin: ModuleFunction | InlineFunction;
	/** The function itself, where it was given as such. */
	// biome-ignore lint/complexity/noBannedTypes: any function will do here
	readonly inline: Function | null;
	/** Where the task was made. */
	readonly place: CallPlace;
}

/**
 * Checks a function option and finds out what it refers to.
 *
 * @param callee the running function whose caller's file relative paths start from
 */
export function readFunction(
	value: unknown,
	role: FunctionRole,
	path: string,
	// biome-ignore lint/complexity/noBannedTypes: any function will do here
	callee: Function,
): FunctionReference {
	const place = callerOf(callee);
	const common = { role, option: OPTIONS[role], place } as const;
	if (typeof value === 'function') {
		const unusable = unusableFunction(value);
		if (unusable !== null) throw new ValidationError(`${path}: ${unusable}`, { path, value });
		return { ...common, origin: analyseInline(value), inline: value };
	}
	return { ...common, origin: readModule(value, path, place), inline: null };
}

const OPTIONS = { block: 'processFunction', worker: 'workerFunction' } as const;

/** How to write a function so that it can go to another process. */
const MODULE_FORM =
	"put the function into a module of its own as its default export and pass new URL('./segment.js', import.meta.url)";

/**
 * A function's reference as text for a worker.
 *
 * @throws FunctionError when the function can't go to another process
 */
export function encodeFunction(reference: FunctionReference, taskId: string): string {
	const { role, origin, place } = reference;
	if (origin.kind === 'module') return JSON.stringify({ role, ...origin });
	const name = origin.name === '' ? 'the function' : origin.name;
	const where = `${reference.option} of task ${JSON.stringify(taskId)}`;
	if (origin.refusal !== null) {
		throw new FunctionError(
			`${where} can't run in worker processes: ${origin.refusal}; ${MODULE_FORM}`,
			{
				taskId,
				option: reference.option,
			},
		);
	}
	if (origin.freeVariables.length > 0) {
		const list = origin.freeVariables.join(', ');
		throw new FunctionError(
			`${where} can't run in worker processes: ${name} uses ${list} from outside itself; ${MODULE_FORM}, or run with multiprocessing: false`,
			{ taskId, option: reference.option, freeVariables: origin.freeVariables },
		);
	}
	const encoded: EncodedFunction = {
		role,
		kind: 'inline',
		name: origin.name,
		source: origin.source,
		original: origin.original,
		given: origin.given,
		strict: origin.strict,
		place,
	};
	return JSON.stringify(encoded);
}

/** What {@link encodeFunction} writes. */
export type EncodedFunction =
	| ({ readonly role: FunctionRole } & ModuleFunction)
	| ({ readonly role: FunctionRole; readonly place: CallPlace } & Pick<
			InlineFunction,
			'kind' | 'name' | 'source' | 'original' | 'given' | 'strict'
	  >);

function readModule(value: unknown, path: string, place: CallPlace): ModuleFunction {
	if (typeof value === 'string' || value instanceof URL) {
		return { kind: 'module', url: moduleUrl(value, path, place), exportName: 'default' };
	}
	if (typeof value !== 'object' || value === null || !('module' in value)) {
		throw new ValidationError(
			`${path} must be a function, a module such as new URL('./segment.js', import.meta.url), or { module, export }, not ${showValue(value)}`,
			{ path, value },
		);
	}
	for (const name of Object.keys(value)) {
		if (name !== 'module' && name !== 'export') {
			throw new ValidationError(`${path}.${name} is unknown: only module and export are`, {
				path: `${path}.${name}`,
				value: (value as Record<string, unknown>)[name],
			});
		}
	}
	const { module, export: exportName = 'default' } = value as {
		module: unknown;
		export?: unknown;
	};
	if (typeof exportName !== 'string' || exportName === '') {
		throw new ValidationError(
			`${path}.export must be the name of an export, not ${showValue(exportName)}`,
			{ path: `${path}.export`, value: exportName },
		);
	}
	return { kind: 'module', url: moduleUrl(module, `${path}.module`, place), exportName };
}

function moduleUrl(location: unknown, path: string, place: CallPlace): string {
	if (location instanceof URL) return checkedUrl(location, path);
	if (typeof location !== 'string' || location === '') {
		throw new ValidationError(`${path} must be a URL or a path, not ${showValue(location)}`, {
			path,
			value: location,
		});
	}
	if (/^(file|data):/.test(location)) {
		if (URL.canParse(location)) return checkedUrl(new URL(location), path);
	} else if (/^\.\.?[/\\]/.test(location)) {
		// as a path: a percent sign or a hash in it stands for itself
		const directory = new URL('.', place.url);
		return new URL(pathToUrlText(location), directory).href;
	} else if (/^(\/|\\\\|[a-zA-Z]:[/\\])/.test(location)) {
		return pathToFileURL(location).href;
	}
	throw new ValidationError(
		`${path} must be a URL, an absolute path, or a path that starts with ./ or ../, not ${showValue(location)}; for a module of a package pass import.meta.resolve(${showValue(location)})`,
		{ path, value: location },
	);
}

function checkedUrl(url: URL, path: string): string {
	if (url.protocol === 'file:' || url.protocol === 'data:') return url.href;
	throw new ValidationError(`${path} must be a file: or data: URL, not ${url.protocol}`, {
		path,
		value: url.href,
	});
}

function pathToUrlText(path: string): string {
	return path.split(/[/\\]/).map(encodeURIComponent).join('/');
}
