import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Block } from '../block.js';
import { Context } from '../context.js';
import { endedByStop, exitWords } from '../launchers/exit-words.js';
import type { Exit, Handle, Launcher } from '../launchers/launcher.js';
import { LocalLauncher } from '../launchers/local.js';
import { makeFolder } from '../launchers/make-folder.js';
import type {
	NativeErrorReport,
	NativeRunConfig,
	NativeRunEvent,
	NativeRunResult,
	NativeRunSnapshot,
} from '../native.js';
import {
	type NativeRun,
	runAbort,
	runChecked,
	runFree,
	runInterrupt,
	runSnapshot,
	runStart,
	runStartFailed,
	runWorkerExited,
	runWorkerStarted,
} from '../native-run.js';
import type { LogMode } from '../settings.js';
import type { Task } from '../task/task.js';
import { describeError } from '../worker/describe-error.js';
import { checkBlocks } from './check-blocks.js';
import type { RunDriver } from './run-driver.js';
import type { RunListener } from './run-listener.js';
import { launchSpec, workerLogs } from './worker-launch.js';

/** How long killed processes may take to be gone: the system is in no hurry with those that wait for a disk. */
const LAST_PROCESSES_MS = 1000;

/** Where the workers of a run write. */
export interface RunLogs {
	readonly mode: LogMode;
	/** Parent directory that workers are told; null for none. */
	readonly dir: string | null;
	/** Each task's folder of log files, in the order of the tasks; null for no files. */
	readonly folders: readonly (string | null)[];
	/** Whether workers' stdout must keep off this process's stdout. */
	readonly outToStderr: boolean;
}

/**
 * A run with worker processes: does what the native run asks for (starts, stops, checks) and passes on
 * what it tells. It decides nothing.
 */
export class LiveRun implements RunDriver {
	/** Settles with the run's end. */
	readonly finished: Promise<NativeRunResult>;
	/** Blocks' failures are in the result. */
	readonly failure = null;
	workerError: NativeErrorReport | null = null;
	readonly #config: NativeRunConfig;
	readonly #tasks: readonly Task[];
	readonly #logs: RunLogs;
	readonly #listener: RunListener;
	readonly #local = new LocalLauncher();
	readonly #starting = new Map<number, AbortController>();
	readonly #handles = new Map<number, Handle>();
	readonly #stopped = new Set<number>();
	/** Workers of this machine, each until its process is gone. */
	readonly #processes = new Set<Promise<void>>();
	readonly #configsWritten = new Set<number>();
	#finish: (result: NativeRunResult) => void = () => {};
	#native: NativeRun | undefined;
	/** Events that came before the native run was known here. */
	#early: NativeRunEvent[] = [];
	#over = false;
	/** A stop that was asked for before the native run was known here. */
	#earlyStop: (() => void) | null = null;

	/** @param config tells of `tasks`, in their order */
	constructor(
		config: NativeRunConfig,
		tasks: readonly Task[],
		logs: RunLogs,
		listener: RunListener,
	) {
		this.#config = config;
		this.#tasks = tasks;
		this.#logs = logs;
		this.#listener = listener;
		this.finished = new Promise((resolve) => {
			this.#finish = resolve;
		});
	}

	get address(): string | null {
		if (!this.#native) return null;
		const { host, port } = this.#native;
		return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
	}

	/** Opens the stores and begins. Rejects when that fails; then nothing has been started. */
	async start(): Promise<void> {
		this.#native = await runStart(this.#config, (event) => {
			if (this.#native) this.#on(event);
			else this.#early.push(event);
		});
		for (const event of this.#early.splice(0)) this.#on(event);
		this.#earlyStop?.();
	}

	/** The latest counters; null before the start and after the end. */
	snapshot(): NativeRunSnapshot | null {
		return this.#native && !this.#over ? runSnapshot(this.#native.handle) : null;
	}

	/** Asks the run to end in order: running blocks get the shutdown grace. */
	interrupt(reason: string): void {
		if (!this.#native) this.#earlyStop = () => this.interrupt(reason);
		else if (!this.#over) runInterrupt(this.#native.handle, reason);
	}

	/** Ends the run at once. */
	kill(): void {
		if (!this.#native) this.#earlyStop = () => this.kill();
		else if (!this.#over) runAbort(this.#native.handle);
	}

	#on(event: NativeRunEvent): void {
		switch (event.kind) {
			case 'startWorker':
				this.#launch(event.task, event.worker);
				break;
			case 'killWorker':
				this.#killWorker(event.worker, event.graceMs);
				break;
			case 'check':
				void this.#check(event.task, event.blocks);
				break;
			case 'failure':
				if (event.failure.block === null) this.workerError = event.failure.error;
				this.#listener.onFailure(this.#tasks[event.failure.task]!, event.failure);
				break;
			case 'notice': {
				const task = event.task === null ? null : this.#tasks[event.task]!;
				this.#listener.onNotice(task, event);
				break;
			}
			case 'taskFinished':
				break;
			case 'finished':
				this.#end(event.result);
		}
	}

	#launch(at: number, workerId: number): void {
		const life = this.#startWorker(at, workerId);
		const { launcher } = this.#tasks[at]!;
		if (launcher !== undefined && !(launcher instanceof LocalLauncher)) return;
		this.#processes.add(life);
		void life.finally(() => this.#processes.delete(life));
	}

	async #startWorker(at: number, workerId: number): Promise<void> {
		const task = this.#tasks[at]!;
		const controller = new AbortController();
		this.#starting.set(workerId, controller);
		const launcher: Launcher = task.launcher ?? this.#local;
		let handle: Handle;
		try {
			handle = checkedHandle(
				await launcher.start(this.#launchSpec(at, workerId), controller.signal),
			);
		} catch (error) {
			this.#tell((run) =>
				runStartFailed(run, workerId, {
					message: describeError(error).message,
					fatal: false,
					code: null,
				}),
			);
			return;
		} finally {
			this.#starting.delete(workerId);
		}
		if (this.#over || controller.signal.aborted) this.#stop(handle, workerId, 0);
		this.#handles.set(workerId, handle);
		this.#tell((run) =>
			runWorkerStarted(run, workerId, {
				pid: handle.pid ?? null,
				tracksExit: handle.exited !== undefined,
				description: describeHandle(handle),
			}),
		);
		this.#listener.onWorkerStarted(task, workerId);
		if (handle.exited) await this.#awaitExit(task, workerId, handle.exited);
	}

	async #awaitExit(task: Task, workerId: number, exited: Promise<Exit>): Promise<void> {
		const exit = await Promise.resolve(exited).then(
			// a launcher that only says when, not how
			(end): Exit => end ?? { code: null },
			(error): Exit => ({
				code: null,
				reason: `was lost by its launcher: ${describeError(error).message}`,
			}),
		);
		this.#handles.delete(workerId);
		const asked = this.#stopped.delete(workerId);
		const stopped = exit.stopped ?? endedByStop(exit, asked);
		const clean = exit.code === 0 && !exit.signal;
		const reason = exit.reason ?? exitWords(exit, { stopped });
		this.#tell((run) =>
			runWorkerExited(run, workerId, {
				clean,
				code: exit.code,
				signal: exit.signal ?? null,
				reason,
				stderrTail: exit.stderrTail ?? '',
				stopped,
			}),
		);
		this.#listener.onWorkerExited(task, workerId, { reason, clean });
	}

	#killWorker(workerId: number, graceMs: number): void {
		this.#starting.get(workerId)?.abort(new Error('the worker is not needed any more'));
		const handle = this.#handles.get(workerId);
		if (handle) this.#stop(handle, workerId, graceMs);
	}

	#stop(handle: Handle, workerId: number, graceMs: number): void {
		this.#stopped.add(workerId);
		// a launcher's failure to stop what it started shows in the worker that stays
		Promise.resolve()
			.then(() => handle.stop(graceMs))
			.catch((error) =>
				this.#listener.onNotice(null, {
					level: 'warning',
					code: 'not-stopped',
					message: `${describeHandle(handle)} can't be stopped: ${describeError(error).message}`,
				}),
			);
	}

	async #check(at: number, indices: Float64Array): Promise<void> {
		const task = this.#tasks[at]!;
		const blocks = Array.from(indices, (index) => Block.at(task.geometry, index));
		const { answers, firstError } = await checkBlocks(task.checkFunction!, blocks);
		this.#tell((run) => runChecked(run, at, answers, firstError));
	}

	#launchSpec(at: number, workerId: number) {
		const task = this.#tasks[at]!;
		const { host, port, secret, secretFile, notesFolder, machine } = this.#native!;
		const { functionReference, resourceTracking, config } = this.#config.tasks[at]!;
		const ownClient = task.functionReference!.role === 'worker';
		const workers = this.#config.tasks.reduce((count, { maxWorkers }) => count + maxWorkers, 0);
		const folder = this.#logs.folders[at] ?? null;
		const { mode, outToStderr } = this.#logs;
		const logs = { ...workerLogs(mode, folder, workerId, workers > 1), outToStderr };
		// Batch systems write the files themselves, and don't make folders for them.
		if (logs.err !== null) makeFolder(dirname(logs.err));
		return launchSpec({
			task,
			workerId,
			context: Context.of({
				hostname: host,
				port,
				secret,
				connectionFile: secretFile,
				notesFolder,
				// others get it over their connection
				configFile: ownClient ? this.#configFile(at, config, secretFile) : null,
				machine,
				taskId: task.taskId,
				workerId,
				logDir: this.#logs.dir,
				resourceTracking,
			}),
			workerFunction: ownClient ? functionReference : null,
			logs,
		});
	}

	/** The file with a task's config beside the run's secret, written before its first worker starts. */
	#configFile(at: number, config: Uint8Array | null, secretFile: string | null): string | null {
		if (config === null || secretFile === null) return null;
		const path = join(dirname(secretFile), `config-${at}`);
		if (!this.#configsWritten.has(at)) writeFileSync(path, config, { mode: 0o600, flag: 'wx' });
		this.#configsWritten.add(at);
		return path;
	}

	/** Tells the native run something, unless it's over. */
	#tell(call: (run: number) => void): void {
		if (this.#native && !this.#over) call(this.#native.handle);
	}

	#end(result: NativeRunResult): void {
		this.#over = true;
		for (const controller of this.#starting.values()) {
			controller.abort(new Error('the run is over'));
		}
		// the native run has waited for all whose exit it can see
		for (const [workerId, handle] of this.#handles) this.#stop(handle, workerId, 0);
		runFree(this.#native!.handle);
		void this.#lastProcesses().then(() => this.#finish(result));
	}

	/** Waits until processes that were killed because nobody needs them any more are gone, but not for ever. */
	async #lastProcesses(): Promise<void> {
		if (this.#processes.size === 0) return;
		let timer: NodeJS.Timeout | undefined;
		const enough = new Promise((resolve) => {
			timer = setTimeout(resolve, LAST_PROCESSES_MS);
		});
		await Promise.race([Promise.all(this.#processes), enough]);
		clearTimeout(timer);
	}
}

/** What a launcher of the user's own gave, if it is a handle. */
function checkedHandle(given: unknown): Handle {
	const handle = given as Partial<Handle> | null | undefined;
	if (typeof handle?.stop === 'function' && typeof handle.describe === 'function') {
		return handle as Handle;
	}
	throw new TypeError('the launcher gave no handle with stop() and describe()');
}

/** A handle in words, whatever its `describe` does. */
function describeHandle(handle: Handle): string {
	try {
		return String(handle.describe());
	} catch (error) {
		return `a worker (describe() threw: ${describeError(error).message})`;
	}
}
