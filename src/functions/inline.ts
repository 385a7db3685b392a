import { type Expression, parse } from 'acorn';
import { outerNames } from './free-variables.js';
import { IMPORT_META } from './import-meta.js';
import { isLoaderHelper } from './loader-helpers.js';
import { isWorkerGlobal } from './worker-globals.js';

/** Names that a CommonJS module gives its functions, and that a worker can give them too. */
const MODULE_NAMES = ['require', '__filename', '__dirname'];

/** A function that was written into the options of a task. */
export interface InlineFunction {
	readonly kind: 'inline';
	readonly name: string;
	/** Text of the function, with `import.meta` replaced. */
	readonly source: string;
	/** Text of the function as it was. */
	readonly original: string;
	/** Names that the worker gives the function: loaders' helpers, `require`, `import.meta`. */
	readonly given: readonly string[];
	/** Names from around the function; with any, it can't go to another process. */
	readonly freeVariables: readonly string[];
	/** Whether it was compiled as strict code, as in every module. */
	readonly strict: boolean;
	/** Why it can't go to another process, if that is so for another reason. */
	readonly refusal: string | null;
}

// biome-ignore lint/complexity/noBannedTypes: any function will do here
type AnyFunction = Function;

/** Why a function can never run blocks, not even in this process; null for one that can. */
export function unusableFunction(fn: AnyFunction): string | null {
	const kind = Object.prototype.toString.call(fn);
	if (/^\[object (Async)?GeneratorFunction\]$/.test(kind)) {
		return `${nameOf(fn)} is a generator function: calling it runs nothing; pass a plain or async function`;
	}
	if (/^class\b/.test(sourceOf(fn))) {
		return `${nameOf(fn)} is a class: pass a function that makes an instance of it`;
	}
	return null;
}

/** Finds out whether a function can be sent to another process, and what it needs there. */
export function analyseInline(fn: AnyFunction): InlineFunction {
	const source = sourceOf(fn);
	const refused = (refusal: string): InlineFunction => ({
		kind: 'inline',
		name: fn.name,
		source,
		original: source,
		given: [],
		freeVariables: [],
		strict: true,
		refusal,
	});
	if (/\{\s*\[native code\]\s*\}$/.test(source)) {
		return refused(
			fn.name.startsWith('bound ')
				? `${nameOf(fn)} is a bound function, whose text isn't known`
				: `${nameOf(fn)} is a native function, whose text isn't known`,
		);
	}
	// functions of sloppy code have these of their own
	const sloppy = Object.hasOwn(fn, 'arguments') && Object.hasOwn(fn, 'caller');
	const expression =
		expressionOf(`(${source}\n)`, sloppy ? 'script' : 'module') ??
		expressionOf(`(${source}\n)`, 'script');
	if (expression === null || !/Function/.test(expression.type)) {
		return refused(
			expressionOf(`({${source}\n})`, 'module') !== null
				? `${nameOf(fn)} is a method, whose text alone is no function; write it as name: function () {} or name: () => {}`
				: `${nameOf(fn)} has a text that can't be read as a function`,
		);
	}
	const { names, importMeta } = outerNames(expression);
	const unknown = names.filter((name) => !isWorkerGlobal(name));
	const given = unknown.filter((name) => isLoaderHelper(name) || MODULE_NAMES.includes(name));
	return {
		kind: 'inline',
		name: fn.name,
		source: replaceAll(source, importMeta, IMPORT_META),
		original: source,
		given: importMeta.length > 0 ? [...given, IMPORT_META] : given,
		freeVariables: unknown.filter((name) => !given.includes(name)),
		strict: !sloppy,
		refusal: null,
	};
}

/** The only expression of a text, or null when it is something else. */
function expressionOf(text: string, sourceType: 'module' | 'script'): Expression | null {
	try {
		const { body } = parse(text, { ecmaVersion: 'latest', sourceType });
		const [statement] = body;
		return body.length === 1 && statement?.type === 'ExpressionStatement'
			? statement.expression
			: null;
	} catch {
		return null;
	}
}

function replaceAll(
	source: string,
	ranges: readonly (readonly [number, number])[],
	replacement: string,
): string {
	let result = source;
	// from the end, so that earlier offsets stay right; 1 for the parenthesis put before
	for (const [start, end] of [...ranges].sort((a, b) => b[0] - a[0])) {
		result = result.slice(0, start - 1) + replacement + result.slice(end - 1);
	}
	return result;
}

function sourceOf(fn: AnyFunction): string {
	return Function.prototype.toString.call(fn);
}

function nameOf(fn: AnyFunction): string {
	return fn.name === '' ? 'the function' : fn.name;
}
