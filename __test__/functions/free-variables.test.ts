import { parse } from 'acorn';
import test from 'ava';
import { outerNames } from '../../src/functions/free-variables.js';

function freeIn(source: string): string[] {
	const [statement] = parse(`(${source}\n)`, { ecmaVersion: 'latest', sourceType: 'module' }).body;
	if (statement?.type !== 'ExpressionStatement') throw new Error('not an expression');
	return [...outerNames(statement.expression).names];
}

const cases: [name: string, source: string, free: string[]][] = [
	['a parameter', '(a) => a', []],
	['a name from outside', '() => a', ['a']],
	['defaults see earlier parameters', '(a, b = a, c = d) => b', ['d']],
	[
		'patterns',
		'({ a, b: { c = x }, ...d }, [e, , f = y, ...g]) => [a, c, d, e, f, g, b]',
		['x', 'y', 'b'],
	],
	['computed keys', '({ [k]: v }) => ({ [w]: v, v, z })', ['k', 'w', 'z']],
	['properties are no names', '(o) => o.a.b?.c[d]', ['d']],
	['its own name', 'function f(n) { return n && f(n - 1); }', []],
	['its own name is not seen outside', '() => { (function g() {}); return g; }', ['g']],
	['arguments of a function', 'function () { return arguments.length; }', []],
	['arguments of an arrow', '() => arguments', ['arguments']],
	['this of an arrow', '() => this.x', ['this']],
	['this of a function inside an arrow', '() => function () { return this; }', []],
	['this of an arrow in a function', 'function () { return () => this; }', []],
	['var is seen in the whole function', '() => { if (q) { var a = 1; } return a; }', ['q']],
	['let is seen in its block', '() => { { let a = 1; } return a; }', ['a']],
	['functions are hoisted', '() => { return f(); function f() { return g; } }', ['g']],
	['for loops', '() => { for (let i = 0; i < n; i++) use(i); return i; }', ['n', 'use', 'i']],
	['for of', '(list) => { for (const { a } of list) a; for (b of list); }', ['b']],
	['var in a for loop', '() => { for (var i = 0; ;) break; return i; }', []],
	['catch', '() => { try { a; } catch ({ message }) { message; } message; }', ['a', 'message']],
	['catch without a name', '() => { try {} catch { e; } }', ['e']],
	['labels', '() => { out: for (;;) { break out; } }', []],
	['typeof of what may not exist', "() => typeof window === 'undefined' || typeof a.b", ['a']],
	[
		'assignment',
		'() => { a = 1; [b, c.d] = [1, 2]; ({ e, f: g } = {}); h++; }',
		['a', 'b', 'c', 'e', 'g', 'h'],
	],
	['templates', `(a) => tag\`\${a} \${b}\``, ['tag', 'b']],
	[
		'classes',
		'() => { class A extends B { #p = q; static s = this.r; [k]() { return super.m() + A.#p; } static { t; var u; u; } } return A; }',
		['B', 'q', 'k', 't'],
	],
	['this in a class field of an arrow', '() => class { a = this; b = () => this; }', []],
	[
		'a class knows its name inside only',
		'() => { (class C { m() { return C; } }); return C; }',
		['C'],
	],
	['switch', '(v) => { switch (v) { case a: let b; default: b; } return b; }', ['a', 'b']],
	['new.target and import()', "function () { new.target; return import('node:fs'); }", []],
	['import() of a name', '() => import(file)', ['file']],
	[
		'async, await and generators inside',
		'async (a) => { for await (const b of a) yield_(b); }',
		['yield_'],
	],
	[
		'object methods and accessors',
		'() => ({ get a() { return this.b; }, c() { return d; } })',
		['d'],
	],
	['shadowing', '(a) => ((b) => { const a = b; return a; })(a)', []],
	['names of built-ins are names', '() => Math.max(NaN, undefined)', ['Math', 'NaN', 'undefined']],
];

for (const [name, source, free] of cases) {
	test(`free variables: ${name}`, (t) => t.deepEqual(freeIn(source).sort(), [...free].sort()));
}

test('import.meta is found where it stands', (t) => {
	const source = '() => [import.meta.url, import.meta]';
	const text = `(${source})`;
	const [statement] = parse(text, { ecmaVersion: 'latest', sourceType: 'module' }).body;
	if (statement?.type !== 'ExpressionStatement') return t.fail();
	const { importMeta } = outerNames(statement.expression);
	t.deepEqual(
		importMeta.map(([start, end]) => text.slice(start, end)),
		['import.meta', 'import.meta'],
	);
});
