import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import { analyseInline } from '../../src/functions/inline.js';
import { type LoadedFunction, loadFunction, loadInProcess } from '../../src/functions/load.js';
import { checkModule } from '../../src/functions/module-problems.js';
import { encodeFunction, readFunction } from '../../src/functions/reference.js';
import { task } from '../task/tasks.js';

const fixture = (name: string) => new URL(`../fixtures/functions/${name}`, import.meta.url);

function read(value: unknown, role: 'block' | 'worker' = 'block') {
	return readFunction(value, role, role === 'block' ? 'processFunction' : 'workerFunction', read);
}

/** What a worker makes of a function. */
function ship(value: unknown): Promise<LoadedFunction> {
	return loadFunction(encodeFunction(read(value), 't'));
}

/** A function whose text no loader has touched. */
function written(source: string) {
	return vm.runInThisContext(`(${source}\n)`);
}

test('a bare URL is the default export, with setup and teardown', async (t) => {
	const { run, setup, teardown, role } = await ship(fixture('segment.ts'));
	t.is(run({ id: 't/1' }), 'default t/1');
	t.is(role, 'block');
	setup?.();
	teardown?.();
	const { calls } = await import('../fixtures/functions/segment.js');
	t.deepEqual(calls, ['t/1', 'setup', 'teardown']);
});

test('a module may be given as URL, text of one, path, or with an export', async (t) => {
	const url = fixture('segment.ts');
	for (const module of [url, url.href, fileURLToPath(url), '../fixtures/functions/segment.ts']) {
		const { run } = await ship({ module, export: 'named' });
		t.is(run({ id: 't/1' }), 'named t/1');
	}
	const { run } = await ship('data:text/javascript,export default (n) => n * 2');
	t.is(run(4), 8);
});

test('a relative path starts from the file that makes the task', async (t) => {
	const { beside, above, importing } = await import('../fixtures/functions/make-task.js');
	t.deepEqual(beside.functionReference?.origin, {
		kind: 'module',
		url: fixture('segment.ts').href,
		exportName: 'default',
	});
	t.deepEqual(above.functionReference?.origin, {
		kind: 'module',
		url: fixture('segment.ts').href,
		exportName: 'named',
	});
	const loaded = await loadFunction(encodeFunction(importing.functionReference!, 't'));
	t.is(await loaded.run(), 'named x', 'import() in an inline function starts there too');
	t.throws(() => task('a', { processFunction: 'segment.ts' }), { message: /starts with \.\// });
});

test('ESM with top-level await and CommonJS of every kind', async (t) => {
	t.is((await ship(fixture('late.mjs'))).run(1), 6);
	const cjs = await ship(fixture('plain.cjs'));
	t.is(cjs.run(1), 2);
	t.is(cjs.setup?.(), 'ready');
	t.is(cjs.teardown, null);
	t.is((await ship({ module: fixture('plain.cjs'), export: 'twice' })).run(4), 8);
	t.is((await ship(fixture('compiled.cjs'))).run(1), 3);
	t.is((await ship({ module: fixture('compiled.cjs'), export: 'other' })).run(1), 4);
	t.is((await ship({ module: fixture('computed.cjs'), export: 'b' })).run(), 'b');
});

test('what is wrong with a module is told by its name', async (t) => {
	const path = (name: string) => fileURLToPath(fixture(name));
	const cases: [unknown, string, RegExp][] = [
		[fixture('no-such.mjs'), 'not-found', /doesn't exist/],
		[fixture('throws.mjs'), 'threw', /RangeError: not today/],
		[fixture('needs-missing.mjs'), 'threw', /no-such-file/],
		[{ module: fixture('segment.ts'), export: 'nope' }, 'no-export', /it has .*named/],
		[{ module: fixture('segment.ts'), export: 'notAFunction' }, 'not-a-function', /42/],
		[fixture('computed.cjs'), 'not-a-function', /no function/],
		[fixture('bad-setup.mjs'), 'not-a-function', /"setup"/],
	];
	for (const [value, problem, message] of cases) {
		const error = await t.throwsAsync(ship(value), { message }, problem);
		if (!isBellisError(error, 'ERR_BELLIS_MODULE')) throw error;
		t.is(error.problem, problem as never);
		t.true(error.message.includes(path('')), error.message);
	}
	const error = await t.throwsAsync(ship(fixture('throws.mjs')));
	t.like(error?.cause, { name: 'RangeError' });
});

test('a function that needs nothing around it runs elsewhere as it is', async (t) => {
	const sources = [
		'(n) => n + 1',
		'n => n + 1',
		'function (n) { return n + 1; }',
		'function named(n) { return n < 0 ? named(-n) : n + 1; }',
		'async (n) => { await null; return n + 1; }',
		'async function (n) { return Math.max(n, 0) + [1].length; }',
		'(n) => { const inner = (m) => m + 1; return inner(n); } // and a comment',
		"(n) => n + (typeof window === 'undefined' ? 1 : 0)",
	];
	for (const source of sources) t.is(await (await ship(written(source))).run(4), 5, source);
});

test('what a module gives its functions is there', async (t) => {
	t.is(
		(await ship(written("() => require('node:path').sep"))).run(),
		(await import('node:path')).sep,
	);
	t.is((await ship(written('() => __filename'))).run(), fileURLToPath(import.meta.url));
	t.is((await ship(() => import.meta.url)).run(), import.meta.url);
	t.is(
		await (
			await ship(async () => (await import('../fixtures/functions/segment.js')).named({ id: 'y' }))
		).run(),
		'named y',
	);
});

test("helpers of loaders and coverage tools don't count", async (t) => {
	const counted = '(n) => { cov_1a2b3c().f[0]++; cov_1a2b3c().s[1]++; return n; }';
	const kept =
		'(n) => { const twice = __name((m) => 2 * m, "twice"); return [twice(n), twice.name]; }';
	t.is((await ship(written(counted))).run(3), 3);
	t.deepEqual((await ship(written(kept))).run(3), [6, 'twice']);
	// this file went through a loader itself
	const own = (n: number) => {
		function inner(m: number) {
			return m + 1;
		}
		class Field {
			value = inner(n);
		}
		return new Field().value;
	};
	t.is((await ship(own)).run(3), 4);
});

test('free variables are refused by name when a function is to be shipped, not before', async (t) => {
	const factor = 3;
	const reference = read((n: number) => n * factor);
	t.is((await loadInProcess(reference)).run(2), 6);
	const error = t.throws(() => encodeFunction(reference, 'seg'), { message: /factor/ });
	if (!isBellisError(error, 'ERR_BELLIS_FUNCTION')) throw error;
	t.deepEqual([...error.freeVariables], ['factor']);
	t.is(error.taskId, 'seg');
	t.regex(error.message, /new URL\('\.\/segment\.js', import\.meta\.url\)/);
	t.deepEqual(analyseInline(written('(n) => n + a + Math.abs(b) + this.c')).freeVariables, [
		'a',
		'b',
		'this',
	]);
});

test('functions without a text of their own run here and are refused by name elsewhere', async (t) => {
	const object = {
		method(n: number) {
			return n + 1;
		},
	};
	const cases: [unknown, RegExp][] = [
		[Math.max, /max is a native function/],
		[((n: number) => n + 1).bind(null), /bound function/],
		[new Proxy((n: number) => n + 1, {}), /native function/],
		[object.method, /method is a method/],
		[written('{ async method(n) { return n + 1; } }').method, /method is a method/],
	];
	for (const [fn, message] of cases) {
		const reference = read(fn);
		t.true(Number.isFinite(await (await loadInProcess(reference)).run(2)));
		t.throws(() => encodeFunction(reference, 't'), { message, code: 'ERR_BELLIS_FUNCTION' });
	}
});

test('generators and classes are refused at once', (t) => {
	const cases: [unknown, RegExp][] = [
		[function* walk() {}, /walk is a generator/],
		[async function* walk() {}, /walk is a generator/],
		[class Segmenter {}, /Segmenter is a class/],
	];
	for (const [processFunction, message] of cases) {
		const error = t.throws(() => task('a', { processFunction: processFunction as () => void }), {
			message,
		});
		t.is((error as { path?: string }).path, 'processFunction');
	}
});

test("an error in a shipped function points into the user's file", async (t) => {
	const { run } = await ship((n: number) => {
		if (n === 3) throw new Error('bad block');
		return n;
	});
	const error = t.throws(() => run(3), { message: 'bad block' });
	t.true(error?.stack?.includes('functions.test.ts'), error?.stack);
	// an untouched file: the very line
	const { default: thrower, line } = await import(fixture('thrower.mjs').href);
	const shipped = await loadFunction(
		encodeFunction(
			{ ...read(thrower), place: { url: fixture('thrower.mjs').href, line: 1, known: true } },
			't',
		),
	);
	const exact = t.throws(() => shipped.run(), { message: 'exact' });
	t.regex(exact!.stack!, new RegExp(`thrower\\.mjs:${line}:`));
});

test('a worker function is read the same way', async (t) => {
	const reference = read(fixture('segment.ts'), 'worker');
	t.is(reference.option, 'workerFunction');
	t.is((await loadFunction(encodeFunction(reference, 't'))).role, 'worker');
});

test('before a run a missing module and TypeScript without a loader are found', (t) => {
	const plain = { loader: false, typescript: false };
	t.notThrows(() => checkModule(read(fixture('late.mjs')), plain));
	t.notThrows(() =>
		checkModule(
			read(() => 1),
			plain,
		),
	);
	t.throws(() => checkModule(read(fixture('no-such.mjs')), plain), {
		message: /no-such\.mjs doesn't exist/,
	});
	const typescript = read(fixture('segment.ts'));
	t.throws(() => checkModule(typescript, plain), { message: /node --import tsx/ });
	t.notThrows(() => checkModule(typescript, { loader: true, typescript: false }));
	t.notThrows(() => checkModule(typescript, { loader: false, typescript: true }));
});
