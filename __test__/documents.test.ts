import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = [
	'README.md',
	'ARCHITECTURE.md',
	'CONTRIBUTING.md',
	'PROTOCOL.md',
	'RUN_RECORDS.md',
	'SECURITY.md',
	'benchmark/README.md',
];

/** Made by set-up or by a run, or from the registry, so named in documents without being committed. */
const made = /^(@types|dist|target|node_modules|\.build|demo-output|bellis_logs)(\/|$)/;

/** A path of the checkout in backticks: it has a folder or a known ending, and no blanks or placeholders. */
const path =
	/^(?:\.?[\w@-][\w.@-]*\/)+[\w.@-]*$|^[\w.@-]+\.(?:md|ts|js|mjs|cjs|cts|rs|toml|json|svg|sh|jsonl)$/;

function namedPaths(text: string): string[] {
	const prose = text.replace(/```[\s\S]*?```/g, '');
	return (
		[...prose.matchAll(/`([^`\s]+)`/g)]
			.map(([, name = '']) => name)
			.filter((name) => path.test(name) && !made.test(name))
			// `c/0/0` is a chunk of a store, `acme/name` never a path of ours.
			.filter((name) => !/^c\/0/.test(name))
	);
}

for (const document of documents) {
	test(`every path that ${document} names exists`, (t) => {
		const text = readFileSync(join(root, document), 'utf8');
		const names = namedPaths(text);
		const runtime = new Set(['zarr.json', 'runs.jsonl', 'binding.cjs', 'binding.d.cts']);
		const missing = names.filter((name) => !runtime.has(name) && !existsSync(join(root, name)));
		t.deepEqual(missing, []);
		t.true(text.length > 200);
	});

	test(`every relative link of ${document} leads somewhere`, (t) => {
		const text = readFileSync(join(root, document), 'utf8');
		const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)/g)].map(
			([, to = '']) => to,
		);
		const folder = join(root, document, '..');
		t.deepEqual(
			links.filter((to) => !existsSync(join(folder, to))),
			[],
		);
		t.pass();
	});
}

test('ARCHITECTURE.md names every folder of the sources', (t) => {
	const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
	for (const folder of [
		'crates/core',
		'crates/tracking',
		'crates/net',
		'crates/node',
		'src/',
		'index.d.ts',
	]) {
		t.true(text.includes(folder), folder);
	}
});
