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

/** The declarations of a class or an interface whose line before says nothing of them, by name. */
function undescribed(file: string, name: string): string[] {
	const lines = readFileSync(join(root, file), 'utf8').split('\n');
	const head = new RegExp(
		`^export (?:declare )?(?:abstract )?(class|interface|function|const|type) ${name}\\b`,
	);
	const at = lines.findIndex((line) => head.test(line));
	const missing = lines[at - 1]?.endsWith('*/') ? [] : [name];
	const [, kind] = head.exec(lines[at] ?? '') ?? [];
	if (kind !== 'class' && kind !== 'interface') return missing;
	const end = lines.indexOf('}', at);
	let before = '';
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
		if (!lines[i - 1]!.endsWith('*/') && member[1] !== before) missing.push(`${name}.${member[1]}`);
		before = member[1]!;
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
