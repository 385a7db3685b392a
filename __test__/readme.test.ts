// The README's examples run as they stand there, and its tables say what the code says.
import { execFile } from 'node:child_process';
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { exitCodesHelp } from '../src/cli/exit-codes.ts';
import { Roi } from '../src/geometry/roi.ts';
import { readRunOptions } from '../src/run/options.ts';
import { taskOptionNames } from '../src/task/options.ts';
import { Task } from '../src/task/task.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The code blocks of a language, in their order. */
const blocks = (language: string) =>
	[...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
		([, code = '']) => code,
	);

/** The rows of the table below a heading, each as its cells. */
function table(heading: string): string[][] {
	const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
	const rows = section.split('\n').filter((line) => line.startsWith('|'));
	return rows.slice(2).map((row) =>
		row
			.slice(1, -1)
			.split(/(?<!\\)\|/)
			.map((cell) => cell.trim()),
	);
}

const code = (cell: string | undefined) => /^`([^`]+)`/.exec(cell ?? '')?.[1];

/** A folder in which bellis is installed, with the README's modules in it. */
function project(t: ExecutionContext): string {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bellis-readme-')));
	t.teardown(() => rmSync(folder, { recursive: true, force: true }));
	mkdirSync(join(folder, 'node_modules'));
	symlinkSync(root, join(folder, 'node_modules/bellis'), 'dir');
	for (const block of blocks('js')) {
		const name = /^\/\/ (\w+\.mjs)/.exec(block)?.[1];
		if (!name)
			throw new Error(`a code block of the README doesn't begin with its file's name:\n${block}`);
		writeFileSync(join(folder, name), block);
	}
	return folder;
}

const { NODE_OPTIONS, ...plainEnv } = process.env;
const run = (cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
	execute(process.execPath, args, { cwd, env: { ...plainEnv, ...env } });

test('the first example is that of examples/quickstart', (t) => {
	const files = readdirSync(join(root, 'examples/quickstart'));
	t.deepEqual(files.sort(), ['main.mjs', 'smooth.mjs', 'task.mjs']);
	for (const file of files) {
		const text = readFileSync(join(root, 'examples/quickstart', file), 'utf8');
		t.true(blocks('js').includes(text), file);
	}
});

test('the first example does what its commands say', async (t) => {
	const folder = project(t);
	const commands = blocks('sh')
		.flatMap((block) => block.split('\n'))
		.filter((line) => /^(node main|npx bellis)/.test(line))
		.map((line) => line.replace(/ +#.*$/, '').split(' '));
	const outputs: string[] = [];
	for (const [program, ...words] of commands) {
		const args = program === 'npx' ? [join(root, 'dist/cli/main.js'), ...words.slice(1)] : words;
		outputs.push((await run(folder, args)).stdout);
	}
	const [first, again, status, reset, plan, last] = outputs;
	t.is(outputs.length, 6);
	t.regex(first!, /^ {4}smooth ✔ +64 +64 +0 +0 +0$/m);
	t.regex(again!, /^ {4}smooth ✔ +64 +64 +64 +0 +0$/m);
	t.regex(again!, /smooth {3}64 blocks \(64 skipped\), 0 workers/);
	t.regex(status!, /done {6}64 \(100\.0%\)/);
	t.regex(reset!, /^removed .*tracking\/smooth\n$/);
	t.regex(plan!, /A run would do 64 of 64 blocks/);
	t.regex(last!, /smooth {3}64 blocks, 2 workers/);

	// The mean of 25 pixels, computed without blocks.
	const [noise, smooth] = ['noise.raw', 'smooth.raw'].map((name) =>
		readFileSync(join(folder, name)),
	);
	const size = 1024;
	let wrong = 0;
	for (let y = 2; y < size - 2; y++) {
		for (let x = 2; x < size - 2; x++) {
			let sum = 0;
			for (let dy = -2; dy <= 2; dy++) {
				for (let dx = -2; dx <= 2; dx++) sum += noise![(y + dy) * size + x + dx]!;
			}
			if (smooth![y * size + x] !== Math.floor(sum / 25)) wrong++;
		}
	}
	t.is(wrong, 0);
});

test('every other code block runs', async (t) => {
	const folder = project(t);
	await run(folder, ['main.mjs']);
	const pipeline = await run(folder, ['pipeline.mjs']);
	t.regex(pipeline.stdout, /^ {4}fragments ✔ +16 +16/m);
	const events = await run(folder, ['events.mjs']);
	t.regex(events.stdout, /^skipped 64 of 64 blocks .*\ntrue\n$/);
	const serial = await run(folder, ['serial.mjs']);
	t.regex(serial.stdout, /true\n$/);
	const worker = `
		import { Roi, runBlockwise, Task } from 'bellis';
		const task = new Task({
			taskId: 'own', totalRoi: new Roi([0], [40]), readRoi: new Roi([0], [10]), writeRoi: new Roi([0], [10]),
			workerFunction: './worker.mjs', readWriteConflict: false,
		});
		console.log(await runBlockwise(task, { progress: false, summary: false }));`;
	writeFileSync(join(folder, 'runs-worker.mjs'), worker);
	t.is((await run(folder, ['runs-worker.mjs'])).stdout, 'true\n');
});

test('the launcher for Slurm works with a program that behaves like sbatch', async (t) => {
	const folder = project(t);
	const bin = join(folder, 'bin');
	mkdirSync(bin);
	const program = (name: string, text: string) => {
		writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
		chmodSync(join(bin, name), 0o755);
	};
	// Starts the job in the background and returns its number at once, as sbatch does.
	program(
		'sbatch',
		`for word; do case $word in --wrap=*) wrap=\${word#--wrap=};; --error=*) err=\${word#--error=};; esac; done
setsid sh -c "$wrap" >>"$err" 2>&1 </dev/null & echo $!; echo job >>'${folder}/jobs'`,
	);
	program('scancel', 'kill "$1"');
	const main = `
		import { Roi, runBlockwise, Task } from 'bellis';
		import { slurm } from './slurm.mjs';
		const task = new Task({
			taskId: 'jobs', totalRoi: new Roi([0], [40]), readRoi: new Roi([0], [10]), writeRoi: new Roi([0], [10]),
			processFunction: () => {}, readWriteConflict: false, maxWorkers: 2, launcher: slurm,
		});
		console.log(await runBlockwise(task, { progress: false, summary: false }));`;
	writeFileSync(join(folder, 'jobs.mjs'), main);
	const { stdout } = await run(folder, ['jobs.mjs'], { PATH: `${bin}:${process.env.PATH}` });
	t.is(stdout, 'true\n');
	t.true(existsSync(join(folder, 'jobs')));
});

test('the table of task options names them all, with their defaults', (t) => {
	const rows = table('Task options');
	t.deepEqual(
		rows.map(([name]) => code(name)),
		taskOptionNames,
	);
	const roi = new Roi([0], [10]);
	const given = { taskId: 'a', totalRoi: roi, readRoi: roi, writeRoi: roi };
	checkDefaults(t, rows, new Task(given) as unknown as Record<string, unknown>, Object.keys(given));
});

test('the table of run options names them all, with their defaults', (t) => {
	const rows = table('Run options');
	const resolved = readRunOptions({}) as unknown as Record<string, unknown>;
	t.deepEqual(rows.map(([name]) => code(name)).sort(), Object.keys(resolved).sort());
	checkDefaults(t, rows, { ...resolved, trackingDir: undefined }, []);
});

/** A default in code style must be the real one; one in words stands for none. */
function checkDefaults(
	t: ExecutionContext,
	rows: string[][],
	resolved: Record<string, unknown>,
	required: readonly string[],
): void {
	for (const [name, cell] of rows) {
		const option = code(name)!;
		if (required.includes(option)) t.is(cell, 'required');
		else if (resolved[option] === undefined) t.is(code(cell), undefined, option);
		else t.is(code(cell)?.replaceAll("'", '"'), JSON.stringify(resolved[option]), option);
	}
}

test('the tables of errors and exit codes are complete', (t) => {
	const source = readFileSync(join(root, 'src/errors.ts'), 'utf8');
	const classes = [...source.matchAll(/^\t(ERR_BELLIS_\w+): (\w+),$/gm)].map(
		([, name, of]) => `${name} ${of}`,
	);
	t.true(classes.length > 10);
	t.deepEqual(
		table('Errors').map(([name, of]) => `${code(name)} ${code(of)}`),
		classes,
	);
	for (const [codes, meaning] of table('Command line')) {
		const [number] = codes!.split(', ');
		const line = exitCodesHelp.split('\n').find((text) => text.trim().startsWith(`${number} `));
		t.truthy(line, codes);
		if (Number(number) <= 3)
			t.true(line?.replaceAll('`', '').endsWith(meaning!.replaceAll('`', '')));
	}
});

test('the changelog begins with the version of the package', (t) => {
	const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
	const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
	t.is(/^## \[(.+?)\]/m.exec(changelog)?.[1], version);
	t.true(readme.includes(`Version ${version} `));
});
