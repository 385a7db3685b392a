import { readFileSync, writeFileSync } from 'node:fs';
import test from 'ava';
import * as bellis from '../src/index.js';

/** The names that `index.d.ts` gives, values and types apart. */
function declaredNames(): { values: string[]; types: string[] } {
	const text = readFileSync(new URL('../index.d.ts', import.meta.url), 'utf8');
	const names = { values: [] as string[], types: [] as string[] };
	for (const [, type, list] of text.matchAll(/export (type )?\{([^}]*)\} from '[^']+';/g)) {
		const kind = type === undefined ? names.values : names.types;
		kind.push(
			...list!
				.split(',')
				.map((name) => name.trim())
				.filter((name) => name !== ''),
		);
	}
	return names;
}

/** Names of the members that a class gives its objects. */
function membersOf(exports: object): Record<string, string[]> {
	const classes = Object.entries(exports).filter(
		([, value]) => typeof value === 'function' && /^class/.test(String(value)),
	);
	return Object.fromEntries(
		classes.map(([name, { prototype }]) => [name, Object.getOwnPropertyNames(prototype).sort()]),
	);
}

// To change the surface on purpose, run this test with UPDATE_SURFACE=1 and look at the difference.
test('the public surface is pinned', (t) => {
	const { values, types } = declaredNames();
	const surface = { values: values.sort(), types: types.sort(), members: membersOf(bellis) };
	const file = new URL('./public-surface.json', import.meta.url);
	if (process.env.UPDATE_SURFACE) writeFileSync(file, `${JSON.stringify(surface, null, '\t')}\n`);
	t.deepEqual(surface, JSON.parse(readFileSync(file, 'utf8')));
});

test('index.d.ts declares exactly what the package gives, by name', (t) => {
	t.deepEqual(declaredNames().values.sort(), Object.keys(bellis).sort());
	const text = readFileSync(new URL('../index.d.ts', import.meta.url), 'utf8');
	const rest = text
		.replace(/export (type )?\{[^}]*\} from '\.\/dist\/[^']+\.js';/g, '')
		.replace(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, '');
	t.is(rest.trim(), '', 'only named re-exports');
});

test('nothing has a method called then', (t) => {
	for (const [name, value] of Object.entries(bellis)) {
		if (typeof value !== 'function') continue;
		t.false('then' in value, name);
		t.false(typeof value.prototype === 'object' && 'then' in value.prototype, name);
	}
});
