// A pseudo-terminal for tests: util-linux `script` makes it, xterm's emulator says what a person would see.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import xterm from '@xterm/headless';

const fixture = fileURLToPath(new URL('./fixtures/on-terminal.ts', import.meta.url));

/** Why no pseudo-terminal can be had here; null when it can. */
export function missingTerminal(): string | null {
	if (process.platform !== 'linux') return `script and stty of ${process.platform} are others`;
	const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
	if (!script.stdout?.includes('util-linux')) return 'script of util-linux is not installed';
	return spawnSync('stty', ['--version']).error ? 'stty is not installed' : null;
}

/** What came of a program on a pseudo-terminal. */
export interface TerminalRun {
	/** Everything written, with its escape codes, without the fixture's own words. */
	readonly output: string;
	/** Lines of the screen, with what was scrolled off, at each mark and at the end. */
	readonly screens: Readonly<Record<string, readonly string[]>>;
	/** Other words of the fixture. */
	readonly told: readonly string[];
	readonly code: number | null;
	/** Whether the cursor was shown and lines wrapped at the end. */
	readonly restored: boolean;
}

/** The terminal that a program gets. */
export interface TerminalOptions {
	readonly columns?: number;
	readonly rows?: number;
	readonly env?: NodeJS.ProcessEnv;
	readonly cwd?: string;
}

/** Runs a scenario of the fixture on a pseudo-terminal. */
export function runOnTerminal(scenario: string, options?: TerminalOptions): Promise<TerminalRun> {
	return runProgram(['--import', 'tsx', fixture, scenario], options);
}

/** Runs Node on a pseudo-terminal. */
export async function runProgram(
	args: readonly string[],
	{ columns = 80, rows = 10, env = {}, cwd }: TerminalOptions = {},
): Promise<TerminalRun> {
	const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ');
	const command = `stty cols ${columns} rows ${rows} && exec ${words}`;
	const { CI, NO_COLOR, ...rest } = process.env;
	const child = spawn('script', ['-qec', command, '/dev/null'], {
		env: { ...rest, TERM: 'xterm-256color', NODE_OPTIONS: '', ...env },
		stdio: ['pipe', 'pipe', 'inherit'],
		...(cwd !== undefined && { cwd }),
	});
	const chunks: Buffer[] = [];
	child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
	const [code] = await once(child, 'close');
	const text = Buffer.concat(chunks).toString();

	const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
	const screens: Record<string, string[]> = {};
	const told: string[] = [];
	// biome-ignore lint/suspicious/noControlCharactersInRegex: the fixture's marks
	for (const [i, part] of text.split(/\x1B\]777;(.*?)\x07/).entries()) {
		if (i % 2 === 0) {
			await new Promise<void>((resolve) => terminal.write(part, resolve));
			continue;
		}
		const [verb = '', ...words] = part.split(' ');
		if (verb === 'screen') screens[words.join(' ')] = screenOf(terminal);
		else if (verb === 'resize') terminal.resize(Number(words[0]), Number(words[1]));
		else told.push(part);
	}
	screens.end = screenOf(terminal);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
	const output = text.replace(/\x1B\]777;.*?\x07/g, '');
	const restored =
		output.lastIndexOf('\x1B[?25h') > output.lastIndexOf('\x1B[?25l') &&
		output.lastIndexOf('\x1B[?7h') > output.lastIndexOf('\x1B[?7l');
	return { output, screens, told, code, restored };
}

function screenOf(terminal: InstanceType<typeof xterm.Terminal>): string[] {
	const { active } = terminal.buffer;
	const lines: string[] = [];
	for (let row = 0; row < active.length; row++) {
		const line = active.getLine(row);
		const text = line?.translateToString(true) ?? '';
		if (line?.isWrapped) lines.push(`${lines.pop() ?? ''}⏎${text}`);
		else lines.push(text);
	}
	while (lines.length > 0 && lines.at(-1) === '') lines.pop();
	return lines;
}
