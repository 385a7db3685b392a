import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));

for (const [consumer, settings] of [
	['', '--types node'],
	[
		' and is exact about optional properties',
		'--exactOptionalPropertyTypes --noUncheckedIndexedAccess',
	],
	[' and has a bundler', '--module esnext --moduleResolution bundler --types node'],
	[' and names no library and no types', ''],
] as const) {
	test(
		`the declarations compile for a consumer that checks libraries too${consumer}`,
		compiles,
		settings,
	);
}

async function compiles(t: ExecutionContext, settings: string): Promise<void> {
	// A bundler takes no CommonJS of TypeScript.
	const commonJs = settings.includes('bundler') ? [] : ['__test__/types/commonjs.test-d.cts'];
	const consumers = [...commonJs, '__test__/types/task.test-d.ts'];
	const flags = `--ignoreConfig --noEmit --strict --module nodenext --target es2022 --skipLibCheck false ${settings}`;
	const tsc = promisify(execFile)(
		process.execPath,
		['node_modules/typescript/bin/tsc', ...flags.trim().split(' '), 'index.d.ts', ...consumers],
		{ cwd: root },
	);
	await t.notThrowsAsync(tsc.catch((error) => Promise.reject(new Error(error.stdout))));
}

/** What of a name's declarations has no description in the line before, by name. */
function undescribed(file: string, name: string): string[] {
	const lines = readFileSync(join(root, file), 'utf8').split('\n');
	const head = new RegExp(
		`^export (?:declare )?(?:abstract )?(class|interface|function|const|type) ${name}\\b`,
	);
	// An editor shows the description of the one form of an overloaded function that is called.
	const heads = lines.flatMap((line, i) => (head.test(line) ? [i] : []));
	const missing = heads.filter((i) => !lines[i - 1]!.endsWith('*/')).map(() => name);
	const at = heads[0] ?? -1;
	if (at < 0) return [name];
	const [, kind] = head.exec(lines[at] ?? '') ?? [];
	if (kind !== 'class' && kind !== 'interface') return missing;
	const end = lines.indexOf('}', at);
	for (let i = at + 1; i < end; i++) {
		// What is private, made by `new` or by a symbol, or inherits its description, needs none.
		if (
			/^ {4}(?:private |#|constructor|\[|readonly code =|on(?:Start|Progress|Finish|Event)\(|abstract constructor)/.test(
				lines[i]!,
			)
		)
			continue;
		const member = /^ {4}(?:(?:readonly|static|get|set|abstract|async) )*(\w+)[?!]?[(<:]/.exec(
			lines[i]!,
		);
		if (!member) continue;
		if (!lines[i - 1]!.endsWith('*/')) missing.push(`${name}.${member[1]}`);
	}
	return missing;
}

test('every public name says what it is, and so does each of its members', (t) => {
	const index = readFileSync(join(root, 'index.d.ts'), 'utf8');
	const exported = [...index.matchAll(/export (?:type )?\{([^}]+)\} from '\.\/(.+?)\.js'/g)];
	t.true(exported.length > 30);
	const missing = exported.flatMap(([, names, file]) =>
		names!
			.split(',')
			.map((name) => name.trim())
			.filter((name) => name !== '')
			.flatMap((name) => undescribed(`${file}.d.ts`, name)),
	);
	t.deepEqual(missing, []);
});
