import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The command as it is installed: what `npm run build` made. */
export const main = join(root, 'dist/cli/main.js');
export const pipelines = join(root, '__test__/fixtures/cli/pipelines.js');
export const typedPipeline = join(root, '__test__/fixtures/cli/typed.ts');

/** How a command ended. */
export interface CliResult {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A directory of its own for a test, in which commands run. */
export class CliScratch {
	readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'bellis-cli-')));

	constructor(t: ExecutionContext) {
		t.teardown(() => rmSync(this.path, { recursive: true, force: true }));
	}

	/** Writes a file and gives its name. */
	file(name: string, text: string): string {
		writeFileSync(join(this.path, name), text);
		return name;
	}

	/** Lets files here import the package by its name. */
	linkPackage(): void {
		mkdirSync(join(this.path, 'node_modules'));
		symlinkSync(root, join(this.path, 'node_modules/bellis'), 'dir');
	}

	start(
		args: readonly string[],
		{ node = [], env = {} }: { node?: string[]; env?: NodeJS.ProcessEnv } = {},
	): ChildProcess & { result: Promise<CliResult> } {
		if (!existsSync(main)) throw new Error(`${main} is missing: npm run build:ts makes it`);
		const { NODE_OPTIONS, ...rest } = process.env;
		const child = spawn(process.execPath, [...node, main, ...args], {
			cwd: this.path,
			env: { ...rest, NO_COLOR: '1', ...env },
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		const chunks = { stdout: '', stderr: '' };
		for (const name of ['stdout', 'stderr'] as const) {
			child[name]!.setEncoding('utf8').on('data', (text: string) => {
				chunks[name] += text;
			});
		}
		const result = once(child, 'close').then(([code]) => ({ code, ...chunks }));
		return Object.assign(child, { result });
	}

	/** Runs a command to its end. The scratch directory reads `<dir>` in what it printed, the checkout `<root>`. */
	async run(...args: string[]): Promise<CliResult> {
		return this.plain(await this.start(args).result);
	}

	plain({ code, stdout, stderr }: CliResult): CliResult {
		const plain = (text: string) =>
			text.replaceAll(this.path, '<dir>').replaceAll(root.replace(/\/$/, ''), '<root>');
		return { code, stdout: plain(stdout), stderr: plain(stderr) };
	}
}

/** A text that a command must print, as kept in a file. */
export function golden(name: string): string {
	return readFileSync(new URL(`./golden/${name}.txt`, import.meta.url), 'utf8');
}
