import { readFileSync } from 'node:fs';
import test from 'ava';

const source = new URL('../../src/', import.meta.url);

/** What a module of `src` imports when it is loaded: type imports are gone by then. */
function importsOf(path: string): string[] {
	const text = readFileSync(new URL(path, source), 'utf8');
	const found = text.matchAll(/^(?:import|export)\s(?!type\s)(?:[^'";]*?\sfrom\s)?'([^']+)';/gm);
	return Array.from(found, ([, name]) =>
		name!.startsWith('.')
			? new URL(name!, new URL(path, source)).href.slice(source.href.length).replace(/\.js$/, '.ts')
			: name!,
	);
}

/** Everything that is loaded with a module of `src`, itself included. */
function loadedWith(path: string): string[] {
	const loaded = new Set<string>();
	const load = (one: string) => {
		if (loaded.has(one)) return;
		loaded.add(one);
		if (one.endsWith('.ts')) for (const next of importsOf(one)) load(next);
	};
	load(path);
	return [...loaded].sort();
}

test('a worker loads what it needs to run blocks, and no more', (t) => {
	// each of these costs every worker of every run half a millisecond of processor time at its start
	t.deepEqual(loadedWith('worker/entry.ts'), [
		'block-geometry.ts',
		'block-number.ts',
		'block.ts',
		'context.ts',
		'errors.ts',
		'fit.ts',
		'functions/load.ts',
		'functions/module-problems.ts',
		'geometry/coordinate.ts',
		'geometry/flat-index.ts',
		'geometry/roi.ts',
		'native-client.ts',
		'native.ts',
		'node:fs',
		'node:module',
		'node:url',
		'node:util',
		'node:v8',
		'profile-block.ts',
		'show-value.ts',
		'worker/block-loop.ts',
		'worker/client-queue.ts',
		'worker/describe-error.ts',
		'worker/entry.ts',
		'worker/exit-watch.ts',
		'worker/marker.ts',
		'worker/run-worker.ts',
		'worker/worker-task.ts',
	]);
});

test('ARCHITECTURE.md says how many modules that is', (t) => {
	const text = readFileSync(new URL('../ARCHITECTURE.md', source), 'utf8');
	const modules = loadedWith('worker/entry.ts').filter((path) => path.endsWith('.ts'));
	t.true(text.includes(`: ${modules.length} modules,`), `${modules.length} modules`);
});
