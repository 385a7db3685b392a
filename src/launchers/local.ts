import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { writeLeniently } from '../lenient-write.js';
import { strings } from '../option-checks.js';
import { option, readOptions } from '../option-table.js';
import { plainName } from '../report/plain-text.js';
import { isDying } from './dying.js';
import { endedByStop, exitWords } from './exit-words.js';
import type { Exit, Handle, Launcher, LaunchSpec } from './launcher.js';
import { memoryKills } from './memory-kills.js';
import { OutputTail } from './output-tail.js';
import { lastLines, openOutput, type WorkerOutput } from './worker-output.js';

/** How the local launcher starts its processes. */
export interface LocalLauncherOptions {
	/**
	 * A command to put before the worker's own, such as `['nice', '-n', '10']` or
	 * `['sh', '-c', 'module load cuda; exec "$@"', 'sh']`. Default none.
	 */
	readonly wrap?: readonly string[] | undefined;
}

const OPTIONS = { wrap: option<readonly string[]>(strings, []) };

/**
 * Starts a worker as a process of this machine, in a process group of its own: an interrupt from the
 * terminal reaches the driver alone, and stopping a worker ends what it started too.
 */
export class LocalLauncher implements Launcher {
	readonly #wrap: readonly string[];

	/** @throws ValidationError for an unknown option */
	constructor(options: LocalLauncherOptions = {}) {
		this.#wrap = readOptions(options, OPTIONS, { what: 'launcher option' }).wrap;
	}

	/** Starts the worker's process; rejects when it can't be started. */
	async start(spec: LaunchSpec, signal: AbortSignal): Promise<Handle> {
		signal.throwIfAborted();
		const output = openOutput(spec.logs, runHeader(spec.workerId));
		try {
			const [command, ...args] = [...this.#wrap, spec.command, ...spec.args];
			const killsBefore = memoryKills();
			const child = spawn(command!, args, {
				cwd: process.cwd(),
				env: { ...process.env, ...spec.env },
				stdio: ['ignore', output.out?.fd ?? 'ignore', output.err.fd],
				detached: process.platform !== 'win32',
				windowsHide: true,
			});
			await spawned(child);
			return new LocalProcess(child, spec, output, killsBefore, signal);
		} catch (error) {
			closeAll(output);
			throw error;
		}
	}
}

class LocalProcess implements Handle {
	readonly pid: number;
	readonly exited: Promise<Exit>;
	readonly #child: ChildProcess;
	#asked = false;
	/** How the run ended it: one that was already dying ended by itself. */
	#stopped: 'no' | 'politely' | 'by force' = 'no';
	#ended = false;
	#force: NodeJS.Timeout | undefined;

	constructor(
		child: ChildProcess,
		spec: LaunchSpec,
		output: WorkerOutput,
		killsBefore: number | null,
		signal: AbortSignal,
	) {
		this.#child = child;
		this.pid = child.pid!;
		const tails = follow(spec, output);
		remember(this);
		const onAbort = () => this.stop(0);
		signal.addEventListener('abort', onAbort, { once: true });
		this.exited = new Promise<Exit>((resolve) => {
			child.once('exit', (code, killedBy) => resolve({ code, signal: killedBy }));
			if (child.exitCode !== null || child.signalCode !== null) {
				resolve({ code: child.exitCode, signal: child.signalCode });
			}
		}).then(async (exit) => {
			this.#ended = true;
			clearTimeout(this.#force);
			signal.removeEventListener('abort', onAbort);
			forget(this);
			// what the worker started doesn't outlive it, unless it ended well and on its own
			if (this.#asked || exit.code !== 0) this.#signal('SIGKILL');
			const killsAfter = memoryKills();
			const stderrTail = safely(() => lastLines(output.err.fd, output.err.start)) ?? '';
			await Promise.all(tails.map((tail) => tail.finish()));
			closeAll(output);
			const told = { ...exit, stderrTail, stopped: this.#wasStopped(exit) };
			const memoryKill = killsBefore !== null && killsAfter !== null && killsAfter > killsBefore;
			return { ...told, reason: exitWords(told, { memoryKill, stopped: told.stopped }) };
		});
		// what nobody here will read the worker alone keeps open
		if (tails.length === 0 && output.out) {
			closeSync(output.out.fd);
			output.out = null;
		}
	}

	stop(graceMs: number): void {
		if (this.#ended) return;
		this.#asked = true;
		if (this.#stopped === 'no' && !isDying(this.pid)) {
			this.#stopped = graceMs > 0 ? 'politely' : 'by force';
		}
		clearTimeout(this.#force);
		if (graceMs <= 0) {
			this.#signal('SIGKILL');
			return;
		}
		this.#signal('SIGTERM');
		this.#force = setTimeout(() => this.#signal('SIGKILL'), Math.min(graceMs, 2 ** 31 - 1));
	}

	describe(): string {
		return `process ${this.pid}`;
	}

	/** Ends the whole group at once, without waiting: for a driver that is about to exit. */
	killNow(): void {
		this.#signal('SIGKILL');
	}

	#wasStopped(exit: Exit): boolean {
		// force leaves no time for a code
		if (this.#stopped === 'by force') return exit.signal === 'SIGKILL';
		return endedByStop(exit, this.#stopped === 'politely');
	}

	#signal(signal: NodeJS.Signals): void {
		try {
			if (process.platform === 'win32') this.#child.kill(signal);
			else process.kill(-this.pid, signal);
		} catch {
			// ESRCH: nobody of the group is left
		}
	}
}

function follow(spec: LaunchSpec, output: WorkerOutput): OutputTail[] {
	if (spec.logs.console === 'none') return [];
	const { taskId, workerId, logs } = spec;
	const prefix = logs.console === 'prefixed' ? `[${plainName(taskId)} ${workerId}] ` : '';
	const out = logs.outToStderr ? process.stderr : process.stdout;
	const tails = [
		new OutputTail(output.err.fd, output.err.start, prefix, (text) =>
			writeLeniently(process.stderr, text),
		),
	];
	if (output.out) {
		tails.push(
			new OutputTail(output.out.fd, output.out.start, prefix, (text) => writeLeniently(out, text)),
		);
	}
	return tails;
}

function spawned(child: ChildProcess): Promise<void> {
	return new Promise((resolve, reject) => {
		child.once('spawn', resolve);
		child.once('error', reject);
	});
}

function closeAll(output: WorkerOutput): void {
	const { out, err } = output;
	if (out) safely(() => closeSync(out.fd));
	safely(() => closeSync(err.fd));
}

function safely<T>(call: () => T): T | undefined {
	try {
		return call();
	} catch {
		return undefined;
	}
}

function runHeader(workerId: number): string {
	const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
	return `=== bellis run ${now} pid ${process.pid} worker ${workerId} ===`;
}

/** Workers alive, ended by force when this process exits before its runs have. */
const alive = new Set<LocalProcess>();

function remember(worker: LocalProcess): void {
	if (alive.size === 0) process.on('exit', killAll);
	alive.add(worker);
}

function forget(worker: LocalProcess): void {
	alive.delete(worker);
	if (alive.size === 0) process.removeListener('exit', killAll);
}

function killAll(): void {
	for (const worker of alive) worker.killNow();
}
