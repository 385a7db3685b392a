import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CliScratch, main, pipelines, typedPipeline } from './run-cli.ts';

/** What `bellis plan` says about a file; `run` loads files by the same function. */
async function refusal(scratch: CliScratch, ...args: string[]) {
	const { code, stdout, stderr } = await scratch.run('plan', ...args);
	return { code, stdout, stderr };
}

const files: [name: string, file: string, text: string, message: string][] = [
	[
		'a syntax error',
		'broken.mjs',
		"import fs from 'node:fs';\n\nexport const task = { a: 1 ;\n",
		"<dir>/broken.mjs:3: SyntaxError: Unexpected token ';'",
	],
	[
		'a syntax error in CommonJS',
		'broken.cjs',
		'module.exports = {\n};\n}\n',
		"<dir>/broken.cjs:3: SyntaxError: Unexpected token '}'",
	],
	[
		'no export at all',
		'empty.mjs',
		'console.log;\n',
		'empty.mjs exports no Task, Pipeline or array of them; it has no exports',
	],
	[
		'exports of other things',
		'other.mjs',
		'export const one = 1;\nexport const two = 2;\n',
		'other.mjs exports no Task, Pipeline or array of them; it exports one, two',
	],
	[
		'a default export that is a function',
		'function.mjs',
		'export default () => 1;\n',
		'the export "default" of function.mjs must be a Task, a Pipeline or an array of them, not a function',
	],
	[
		'a file that throws',
		'throws.mjs',
		"\nthrow new TypeError('no data in /data');\n",
		"throws.mjs can't be loaded: TypeError: no data in /data (at <dir>/throws.mjs:2)",
	],
	[
		'a file that throws no error',
		'throws-text.mjs',
		"throw 'no data';\n",
		"throws-text.mjs can't be loaded: 'no data'",
	],
	[
		'a missing import',
		'imports.mjs',
		"import './missing.mjs';\n",
		"imports.mjs can't be loaded: Error: Cannot find module '<dir>/missing.mjs' imported from <dir>/imports.mjs",
	],
];

for (const [name, file, text, message] of files) {
	test(`${name}: one line and exit code 2`, async (t) => {
		const scratch = new CliScratch(t);
		t.deepEqual(await refusal(scratch, scratch.file(file, text)), {
			code: 2,
			stdout: '',
			stderr: `error: ${message}\n`,
		});
	});
}

test('a missing file and a directory', async (t) => {
	const scratch = new CliScratch(t);
	t.is((await refusal(scratch, 'nowhere.js')).stderr, 'error: there is no file nowhere.js\n');
	mkdirSync(join(scratch.path, 'folder'));
	const { code, stderr } = await refusal(scratch, 'folder');
	t.is(stderr, 'error: folder is a directory, not a file\n');
	t.is(code, 2);
});

test('an export that is not there, or is no task', async (t) => {
	const scratch = new CliScratch(t);
	const missing = await refusal(scratch, pipelines, '--export', 'goud');
	t.is(
		missing.stderr,
		`error: <root>/__test__/fixtures/cli/pipelines.js has no export "goud"; it exports abandoned, default, failing, gated, good, hungry, inline, measured, notATask, uncovered\n`,
	);
	t.is(missing.code, 2);
	const wrong = await refusal(scratch, pipelines, '--export', 'notATask');
	t.is(
		wrong.stderr,
		`error: the export "notATask" of <root>/__test__/fixtures/cli/pipelines.js must be a Task, a Pipeline or an array of them, not { taskId: 'x' }\n`,
	);
	t.is(wrong.code, 2);
});

test('several exports need a choice; a promise of a task is fine', async (t) => {
	const scratch = new CliScratch(t);
	const several = scratch.file(
		'several.mjs',
		`export { failing, good, notATask } from ${JSON.stringify(pipelines)};\n`,
	);
	const { code, stderr } = await refusal(scratch, several);
	t.is(
		stderr,
		'error: several.mjs has several exports to run: choose with --export one of failing, good\n',
	);
	t.is(code, 2);
	const promised = scratch.file(
		'promised.mjs',
		`import { good } from ${JSON.stringify(pipelines)};\nexport default Promise.resolve([good]);\n`,
	);
	const plan = await scratch.run('plan', promised);
	t.true(plan.stdout.startsWith('good\n'), plan.stderr);
});

test('a file whose top-level await never ends is not waited for', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stderr } = await refusal(
		scratch,
		scratch.file('never.mjs', 'await new Promise(() => {});\nexport default 1;\n'),
	);
	t.is(stderr, 'error: FILE never finished loading: something that it awaits never ends\n');
	t.is(code, 2);
});

test('TypeScript without a loader is refused by naming node --import tsx', async (t) => {
	const scratch = new CliScratch(t);
	const { typescript } = process.features as { typescript?: string | false };
	if (typescript) {
		t.is((await scratch.run('plan', typedPipeline)).code, 0);
		const run = await scratch.run('run', typedPipeline, '--progress', 'none');
		t.regex(run.stdout, /^ {4}typed ✔ +4 +4 +0 +0 +0$/m);
		return;
	}
	const { code, stderr } = await refusal(scratch, typedPipeline);
	t.is(
		stderr,
		`error: <root>/__test__/fixtures/cli/typed.ts is TypeScript that Node ${process.version} can't load by itself: install tsx and run node --import tsx <root>/dist/cli/main.js plan <root>/__test__/fixtures/cli/typed.ts\n`,
	);
	t.is(code, 2);
});

test('JavaScript that imports TypeScript has the same hint', async (t) => {
	const { typescript } = process.features as { typescript?: string | false };
	const scratch = new CliScratch(t);
	const file = scratch.file('imports.mjs', `export * from ${JSON.stringify(typedPipeline)};\n`);
	const { code, stderr } = await refusal(scratch, file);
	if (typescript) t.is(code, 0);
	else
		t.regex(
			stderr,
			/^error: imports\.mjs imports TypeScript that Node \S+ can't load by itself: install tsx and run node --import tsx /,
		);
});

test('TypeScript with tsx', async (t) => {
	const scratch = new CliScratch(t);
	// From the checkout, since tsx is looked for from the working directory.
	const tsx = import.meta.resolve('tsx');
	const run = scratch.start(['run', typedPipeline, '--progress', 'none', '--no-summary'], {
		node: ['--import', tsx],
	});
	const { code, stderr } = await run.result;
	t.is(stderr, '');
	t.is(code, 0, main);
});

test('TypeScript that tsx takes for CommonJS is asked to be an ES module', async (t) => {
	const scratch = new CliScratch(t);
	scratch.linkPackage();
	scratch.file('package.json', '{}');
	const text = `import { Roi, Task } from 'bellis';
		const roi: Roi = new Roi([0], [4]);
		export default new Task({ taskId: 'a', totalRoi: roi, readRoi: roi, writeRoi: roi });\n`;
	const plan = (file: string) =>
		scratch.start(['plan', scratch.file(file, text)], {
			node: ['--import', import.meta.resolve('tsx')],
		}).result;
	const advice =
		'make it an ES module, by the ending .mts or by "type": "module" in its package.json';
	const { code, stderr } = await plan('a.ts');
	t.is(stderr, `error: a.ts got a copy of bellis of its own: ${advice}\n`);
	t.is(code, 2);
	t.is((await plan('a.mts')).code, 0);
	scratch.file('package.json', '{ "type": "module" }');
	t.is((await plan('a.ts')).code, 0);
	const { typescript } = process.features as { typescript?: string | false };
	scratch.file('package.json', '{}');
	if (!typescript)
		t.true((await refusal(scratch, 'a.ts')).stderr.endsWith(` plan a.ts; ${advice}\n`));
});
