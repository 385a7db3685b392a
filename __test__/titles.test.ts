// Holds the list of tests in `__test__/README.md` to what is there.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const here = fileURLToPath(new URL('.', import.meta.url));
const list = readFileSync(join(here, 'README.md'), 'utf8');

/** The titles in a file of tests, constants put in; what else they are made of may be anything. */
function titlesIn(path: string): RegExp[] {
	const text = readFileSync(path, 'utf8');
	const constants = new Map(
		[...text.matchAll(/^const (\w+) =\s*(['"`])(.*?)\2;/gm)].map(([, name, , value]) => [
			name!,
			value!,
		]),
	);
	// Tests that need something of the machine are made by a name that stands for `test` or `test.skip`.
	const skipping = [...text.matchAll(/^const (\w+) = [^;]*\btest\.skip\b[^;]*;/gm)];
	const makers = ['test', ...skipping.map(([, name]) => name)].join('|');
	const titles = text.matchAll(
		new RegExp(`(?<![.\\w])(?:${makers})(?:\\.\\w+)*\\(\\s*(['"\`])((?:\\\\.|(?!\\1).)*)\\1`, 'gs'),
	);
	return [...titles].map(([, , title]) => {
		const named = title!.replace(/\$\{(\w+)\}/g, (whole, name) => constants.get(name) ?? whole);
		const parts = named.replace(/\\(.)/g, '$1').split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/);
		return new RegExp(`^${parts.map(escaped).join('.*')}$`, 's');
	});
}

function escaped(text: string): string {
	return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** What a row names: a file here, or from the root of the checkout, and a title or a function of Rust. */
function rows(): { file: string; title: string }[] {
	return [...list.matchAll(/^\|.*\| `([^`]+\.(?:ts|rs))`: (.+) \|$/gm)].map(([, file, title]) => ({
		file: file!,
		title: title!,
	}));
}

test('every test that a row names exists', (t) => {
	const named = rows();
	for (const { file, title } of named) {
		if (file.endsWith('.rs')) {
			t.true(readFileSync(join(here, '..', file), 'utf8').includes(`fn ${title}()`), title);
		} else {
			const titles = titlesIn(join(here, file));
			t.true(
				titles.some((one) => one.test(title)),
				`${file}: ${title}`,
			);
		}
	}
	const lines = list.split('\n').filter((line) => /^\| (?!what happens)/.test(line));
	t.is(named.length, lines.length, 'a row names no test');
});

test('every difficulty is the beginning of a title', (t) => {
	const files = readdirSync(here, { recursive: true, encoding: 'utf8' }).filter((file) =>
		file.endsWith('.test.ts'),
	);
	const beginnings = files.flatMap((file) =>
		titlesIn(join(here, file)).map(({ source }) => source),
	);
	const difficulties = [...list.matchAll(/^- (.+)$/gm)].map(([, title]) => title!);
	t.true(difficulties.length > 40);
	for (const difficulty of difficulties) {
		const beginning = `^${escaped(difficulty)}`;
		t.true(
			beginnings.some((title) => title.startsWith(beginning)),
			difficulty,
		);
	}
});

test('a title that is not there is missed', (t) => {
	const titles = titlesIn(join(here, 'titles.test.ts'));
	t.true(titles.some((one) => one.test('every test that a row names exists')));
	t.false(titles.some((one) => one.test('every test that a row names')));
});
