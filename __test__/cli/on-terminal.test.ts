import xterm from '@xterm/headless';
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

onTerminal(
	'60 tasks on 24 rows: the bars never scroll, and at the end each has its line',
	async (t) => {
		const scratch = new CliScratch(t);
		scratch.linkPackage();
		scratch.file('block.mjs', 'export default () => {};\n');
		scratch.file(
			'sixty.mjs',
			`import { parallel, Roi, Task } from 'bellis';
export default parallel(...Array.from({ length: 60 }, (_, i) => new Task({
	taskId: 'task' + String(i).padStart(2, '0'),
	totalRoi: new Roi([0], [10]), readRoi: new Roi([0], [10]), writeRoi: new Roi([0], [10]),
	processFunction: './block.mjs',
})));
`,
		);
		const args = [main, 'run', 'sixty.mjs', '--no-summary', '--log-mode', 'none'];
		const size = { columns: 80, rows: 24, cwd: scratch.path };
		const { code, output, screens, restored } = await runProgram(args, size);
		t.is(code, 0);
		t.true(restored);
		// What comes after the cursor is shown again is the last picture, with all of them.
		const live = output.slice(0, output.indexOf('\x1B[?25h'));
		t.regex(live, /… and 39 more tasks/);
		const terminal = new xterm.Terminal({ cols: 80, rows: 24, allowProposedApi: true });
		await new Promise<void>((resolve) => terminal.write(live, resolve));
		t.is(terminal.buffer.active.baseY, 0, 'nothing was scrolled off');
		const finished = screens.end?.filter((line) => /^task\d\d ✔ ♻=0: 100%\|/.test(line));
		t.deepEqual(
			finished?.map((line) => line.slice(0, 6)),
			Array.from({ length: 60 }, (_, i) => `task${String(i).padStart(2, '0')}`),
		);
	},
);
