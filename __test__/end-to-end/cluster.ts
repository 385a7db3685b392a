import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Handle, Launcher, LaunchSpec } from '../../src/launchers/launcher.js';

/** Starts workers as a cluster does: submits and returns; `copies` of each. */
export class SubmittingLauncher implements Launcher {
	readonly started: ChildProcess[] = [];
	readonly #copies: number;

	constructor(t: ExecutionContext, copies = 1) {
		this.#copies = copies;
		t.teardown(() => {
			for (const child of this.started) child.kill('SIGKILL');
		});
	}

	async start(spec: LaunchSpec): Promise<Handle> {
		const [out, err] = [opened(spec.logs.out), opened(spec.logs.err)];
		const children = Array.from({ length: this.#copies }, () =>
			spawn(spec.command, spec.args, {
				env: { ...process.env, ...spec.env, ...spec.context.toEnv() },
				stdio: ['ignore', out ?? 'ignore', err ?? 'ignore'],
			}),
		);
		for (const file of [out, err]) if (file !== null) closeSync(file);
		this.started.push(...children);
		return {
			stop: () => {
				for (const child of children) child.kill('SIGKILL');
			},
			describe: () => `job ${children.map(({ pid }) => pid).join('+')}`,
		};
	}
}

/** A log file to append to, as a batch system opens it. */
function opened(path: string | null): number | null {
	if (path === null) return null;
	mkdirSync(dirname(path), { recursive: true });
	return openSync(path, 'a');
}
