import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type AbandonedError, bellisErrorOf, InterruptedError } from '../errors.js';
import { writeLeniently } from '../lenient-write.js';
import type { NativeRunConfig, NativeRunResult } from '../native.js';
import { displayOrder, type Pipeline, type PipelinePart, readPipeline } from '../pipeline.js';
import { showsColours, symbolPaint } from '../progress/colours.js';
import { endReading } from '../progress/events.js';
import { stoppingText } from '../progress/notices.js';
import { parsedDetails } from '../report/error-text.js';
import type { RunReport } from '../report/run-report.js';
import { renderSummary } from '../report/summary.js';
import type { Task } from '../task/task.js';
import type { TaskState } from '../task-state.js';
import { abandonmentOf } from './abandonment.js';
import { LiveRun, type RunLogs } from './live-run.js';
import { nativeConfig } from './native-config.js';
import { refuseNestedRun } from './nested-run.js';
import { FailureLimit, ResumedNotices, startNotices } from './notices.js';
import { type ResolvedRunOptions, type RunOptions, readRunOptions } from './options.js';
import { ProgressFeed } from './progress-feed.js';
import { recordRun } from './record-run.js';
import { runReportOf } from './result-report.js';
import { statesOf } from './result-states.js';
import { claimLogFolder, claimTasks } from './run-claims.js';
import type { RunDriver } from './run-driver.js';
import type { RunListener } from './run-listener.js';
import { SerialOrder } from './serial-order.js';
import { SerialRun } from './serial-run.js';
import { exitCodeOf, watchStopSignals } from './signals.js';
import { checkBeforeStart } from './start-checks.js';
import { StopRequest } from './stop-request.js';
import { unreached } from './unreached.js';

/** What a run takes: a task, a pipeline, or an array of them side by side. */
export type RunInput = PipelinePart | readonly PipelinePart[];

/** How a run ended. */
export interface RunOutcome {
	/** By task id, in display order. */
	readonly states: Record<string, TaskState>;
	/** Whether every block of every task completed. */
	readonly completed: boolean;
	/** Set when a task was given up. */
	readonly abandoned: AbandonedError | null;
}

/**
 * Carries out a run: checks, start, signals, progress, summary.
 *
 * @returns how it ended, also when tasks were abandoned
 * @throws InterruptedError after a signal, the reason of an `AbortSignal`, and what ended the run early
 */
export async function executeRun(input: RunInput, given: RunOptions = {}): Promise<RunOutcome> {
	try {
		return await execute(input, given);
	} finally {
		// also where the run was refused: nobody waits for events of a run that never began
		endReading(given?.progress);
	}
}

async function execute(input: RunInput, given: RunOptions): Promise<RunOutcome> {
	const pipeline = readPipeline(input);
	const options = readRunOptions(given);
	refuseNestedRun(options.multiprocessing);
	options.signal?.throwIfAborted();
	if (pipeline.tasks.length === 0) return { states: {}, completed: true, abandoned: null };
	checkBeforeStart(pipeline.tasks, options);
	const runId = randomBytes(8).toString('hex');
	const config = nativeConfig(pipeline, options, runId);
	const release = claimTasks(pipeline.tasks);
	try {
		return await new Execution(pipeline, options, config).run();
	} finally {
		release();
	}
}

class Execution {
	readonly #tasks: readonly Task[];
	readonly #display: readonly Task[];
	readonly #options: ResolvedRunOptions;
	readonly #config: NativeRunConfig;
	readonly #stop = new StopRequest();
	readonly #feed: ProgressFeed;

	constructor(pipeline: Pipeline, options: ResolvedRunOptions, config: NativeRunConfig) {
		this.#tasks = pipeline.tasks;
		this.#display = displayOrder(pipeline);
		this.#options = options;
		this.#config = config;
		this.#feed = new ProgressFeed(options.progress, {
			tasks: pipeline.tasks,
			display: this.#display,
			edges: config.edges,
			resources: options.resources,
		});
	}

	async run(): Promise<RunOutcome> {
		const began = performance.now();
		const cpu = process.cpuUsage();
		const logs = this.#claimLogs();
		const driver = this.#driver(logs, this.#feed);
		const endWatch = this.#watchStops(driver);
		try {
			await driver.start();
			startNotices(this.#feed, this.#display);
			const resumed = new ResumedNotices(this.#feed, this.#tasks, this.#config);
			const limit = new FailureLimit(this.#feed, this.#options);
			// Serial runs end with the first error anyway.
			const { multiprocessing } = this.#options;
			this.#feed.start(() => {
				const snapshot = driver.snapshot();
				if (snapshot) {
					resumed.look(snapshot.tasks);
					if (multiprocessing && limit.look(snapshot.tasks)) this.#feed.stopping = true;
				}
				return snapshot;
			});
			const result = await driver.finished;
			const { user, system } = process.cpuUsage(cpu);
			const report = runReportOf(result, {
				tasks: this.#tasks,
				display: this.#display,
				logDir: logs.written ? logs.dir : null,
				logFolders: logs.names,
				interrupted: this.#stop.signal,
				wallSeconds: (performance.now() - began) / 1000,
				cpuSeconds: (user + system) / 1e6,
			});
			await this.#record(report, result);
			resumed.finish(result.states);
			if (multiprocessing) limit.look(result.states);
			this.#feed.finish(result.states);
			if (this.#options.summary) this.#print(report);
			return this.#outcome(result, driver);
		} finally {
			this.#feed.close();
			endWatch();
			logs.release();
		}
	}

	#driver(logs: RunLogs, listener: RunListener): RunDriver {
		if (this.#options.multiprocessing) {
			return new LiveRun(this.#config, this.#tasks, logs, listener);
		}
		const order = new SerialOrder(this.#tasks, this.#display, this.#options.order);
		return new SerialRun(this.#config, this.#tasks, order, listener);
	}

	/** Passes signals and an abort on to the run, until the function that it returns is called. */
	#watchStops(driver: RunDriver): () => void {
		const { signal } = this.#options;
		const apply = (stage: ReturnType<StopRequest['onAbort']>) => {
			if (stage === null) return;
			this.#feed.stopping = true;
			if (stage === 'kill') return driver.kill();
			driver.interrupt(this.#stop.signal ?? 'aborted');
			this.#feed.onNotice(null, {
				level: 'info',
				code: 'stopping',
				message: stoppingText({
					signal: this.#stop.signal,
					graceMs: this.#options.shutdownGraceMs,
					serial: !this.#options.multiprocessing,
				}),
			});
		};
		const onAbort = () => apply(this.#stop.onAbort());
		signal?.addEventListener('abort', onAbort, { once: true });
		const endWatch = watchStopSignals((name) => apply(this.#stop.onSignal(name)));
		return () => {
			endWatch();
			signal?.removeEventListener('abort', onAbort);
		};
	}

	#claimLogs() {
		const { logDir, logMode, multiprocessing } = this.#options;
		const written =
			multiprocessing && logDir !== null && (logMode === 'file' || logMode === 'both');
		const dir = logDir === null ? null : resolve(logDir);
		const claims = written
			? this.#tasks.map(({ taskId }) => claimLogFolder(dir!, taskId, this.#config.runId))
			: [];
		return {
			mode: logMode,
			dir,
			written,
			outToStderr: this.#feed.writesToStdout,
			names: claims.map(({ name }) => name),
			folders: claims.map(({ name }) => resolve(dir!, name)),
			release: () => {
				for (const claim of claims) claim.release();
			},
		};
	}

	/** Keeps what the run did, for `task.report()`. */
	async #record(report: RunReport, { startedAt, finishedAt }: NativeRunResult): Promise<void> {
		const stores = new Map(
			this.#config.tasks.flatMap(({ spec, trackingPath }) =>
				trackingPath === null ? [] : [[spec.taskId, trackingPath] as const],
			),
		);
		const { runId } = this.#config;
		const run = { runId, startedAt, finishedAt, interrupted: this.#stop.signal };
		for (const { taskId, directory, error } of await recordRun(report, run, stores)) {
			const task = this.#tasks.find((one) => one.taskId === taskId)!;
			this.#feed.onNotice(task, {
				level: 'warning',
				code: 'not-recorded',
				message: `what the run did can't be written to ${directory}: ${error.message}`,
			});
		}
	}

	#print(report: RunReport): void {
		const stream = this.#feed.writesToStdout ? process.stderr : process.stdout;
		const columns = stream.columns || undefined;
		const { failuresShown } = this.#options;
		const paint = symbolPaint(showsColours(stream));
		writeLeniently(
			stream,
			`${renderSummary(report, { failuresShown, paint, ...(columns && { columns }) })}\n`,
		);
	}

	#outcome(result: NativeRunResult, driver: RunDriver): RunOutcome {
		if (driver.failure) throw driver.failure.error;
		const { signal, aborted } = this.#stop;
		if (result.outcome === 'interrupted') {
			if (aborted) throw this.#options.signal!.reason;
			const name = signal ?? 'SIGINT';
			throw new InterruptedError(`the run was interrupted by ${name}`, {
				signal: name,
				exitCode: exitCodeOf(name),
			});
		}
		if (result.error) throw this.#fatal(result.error, driver);
		const states = statesOf(this.#tasks, this.#display, result);
		return {
			states,
			completed: Object.values(states).every((state) => state.completed === state.total),
			abandoned: abandonmentOf(this.#display, states, unreached(this.#tasks, result, driver)),
		};
	}

	/** What ended the run, as an error of its class. */
	#fatal(error: NonNullable<NativeRunResult['error']>, driver: RunDriver): Error {
		const { code, message, task, details } = error;
		const taskId = task === null ? '' : this.#tasks[task]!.taskId;
		if (code !== 'ERR_BELLIS_MODULE') return bellisErrorOf(code, message, { taskId, ...details });
		// the message begins with the name of the worker's own error
		const words = message.replace(/^\w*Error: /, '');
		const { fields = {} } = parsedDetails(driver.workerError?.details ?? null);
		const origin = task === null ? undefined : this.#tasks[task]!.functionReference?.origin;
		const module = origin?.kind === 'module' ? origin : { url: '', exportName: '' };
		return bellisErrorOf(code, words, {
			module: fields.module ?? module.url,
			exportName: fields.exportName ?? module.exportName,
			problem: fields.problem ?? 'threw',
		});
	}
}
