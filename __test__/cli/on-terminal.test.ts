import test from 'ava';
import { missingTerminal, runProgram } from '../progress/terminal.ts';
import { CliScratch, main, pipelines } from './run-cli.ts';

const missing = missingTerminal();
if (missing) console.log(`the command line on a terminal is not tested: ${missing}`);
const onTerminal = missing ? test.skip : test;

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is looked for
const colours = /\x1B\[[\d;]*m/g;

onTerminal(
	'status and report have the colours of the summary, unless NO_COLOR says otherwise',
	async (t) => {
		const scratch = new CliScratch(t);
		const quiet = ['--tracking-dir', 'run', '--progress', 'none', '--no-summary'];
		await scratch.run('run', pipelines, '-e', 'failing', ...quiet);
		await scratch.run('run', pipelines, '-e', 'good', ...quiet);
		for (const [args, coloured] of [
			[['status', 'run/failing'], 'failed    \x1B[31m2 (2 failed attempts)\x1B[39m'],
			[['status', 'run/good'], 'done      \x1B[32m8 (100.0%)\x1B[39m'],
			[['report', 'run/failing'], 'failing \x1B[31m✗\x1B[39m'],
			[['report', 'run/good'], 'good \x1B[32m✔\x1B[39m'],
		] as const) {
			const command = [main, ...args];
			const options = { columns: 120, rows: 40, cwd: scratch.path };
			const seen = await runProgram(command, options);
			t.is(seen.code, 0);
			t.true(seen.output.includes(coloured), seen.output);
			t.is(seen.output.match(colours)?.length, 2, 'nothing else');
			for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
				const plain = await runProgram(command, { ...options, env });
				t.is(plain.output, seen.output.replaceAll(colours, ''));
			}
			const piped = await scratch.start(args, { env: { NO_COLOR: '' } }).result;
			t.is(piped.stdout, seen.output.replaceAll(colours, '').replaceAll('\r\n', '\n'));
		}
	},
);
