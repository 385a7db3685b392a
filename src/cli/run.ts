import type { Command } from 'commander';
import { JsonProgressObserver, LinesObserver, runBlockwise } from '../index.js';
import type { ProgressObserver } from '../progress/observer.js';
import type { RunOptions, RunOrder } from '../run/options.js';
import type { LogMode } from '../settings.js';
import {
	exportOption,
	oneOf,
	type PipelineArguments,
	resourceOption,
	trackingDirOption,
	wholeNumber,
	workersOption,
} from './arguments.js';
import { exitCodes, exitCodesHelp } from './exit-codes.js';
import { loadPipeline } from './load-pipeline.js';
import { withMaxWorkers } from './overrides.js';

type Progress = 'bars' | 'lines' | 'json' | 'none';

interface RunArguments extends PipelineArguments {
	serial?: boolean;
	tracking: boolean;
	logDir?: string;
	logMode?: LogMode;
	progress: Progress;
	summary: boolean;
	host?: string;
	order?: RunOrder;
	failFast?: boolean;
	maxFailures?: number;
	failuresShown?: number;
}

const examples = `
Examples:
  $ bellis run segment.js
  $ bellis run pipeline.js --export training --workers 8 --resource gpu=2
  $ bellis run segment.js --tracking-dir /data/run --progress json > progress.jsonl
  $ bellis run segment.js --serial            # in this process, to debug a block
  $ node --import tsx node_modules/.bin/bellis run segment.ts`;

/** Adds `bellis run FILE`. */
export function addRunCommand(program: Command, done: (exitCode: number) => void): void {
	program
		.command('run')
		.summary('run the task or pipeline that a file exports')
		.description('Runs every block of the task or pipeline that FILE exports.')
		.argument('<file>', 'JavaScript or TypeScript module that exports a Task or Pipeline')
		.addOption(exportOption())
		.addOption(workersOption())
		.option('-s, --serial', 'run blocks one by one in this process, without retries and timeouts')
		.addOption(trackingDirOption())
		.option('--no-tracking', 'use no tracking stores: nothing is skipped or remembered')
		.option('--log-dir <dir>', 'directory for worker logs (default: ./bellis_logs)')
		.option(
			'--log-mode <mode>',
			"where workers' output goes: file, console, both or none",
			oneOf('file', 'console', 'both', 'none'),
		)
		.option(
			'-p, --progress <form>',
			'bars (lines where stderr is no terminal), lines, json on stdout, or none',
			oneOf('bars', 'lines', 'json', 'none'),
			'bars',
		)
		.option('--no-summary', 'print no summary')
		.addOption(resourceOption())
		.option('--host <host>', "address for workers on other machines, or 'auto'")
		.option('--order <order>', 'levels or depth-first', oneOf('levels', 'depth-first'))
		.option('--fail-fast', 'stop at the first block that fails for good')
		.option('--max-failures <n>', 'stop after so many failed blocks', wholeNumber(1))
		.option('--failures-shown <n>', 'failures in the summary (default: 1)', wholeNumber(0))
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (file: string, given: RunArguments) => {
			const loaded = await loadPipeline(file, given.export);
			const pipeline = given.workers === undefined ? loaded : withMaxWorkers(loaded, given.workers);
			const completed = await runBlockwise(pipeline, runOptions(given));
			done(completed ? exitCodes.done : exitCodes.failed);
		});
}

/** What is given on the command line as options of a run; the rest keeps its defaults. */
function runOptions(given: RunArguments): RunOptions & { returnStates?: false } {
	return {
		multiprocessing: !given.serial,
		blockTracking: given.tracking,
		trackingDir: given.trackingDir,
		logDir: given.logDir,
		logMode: given.logMode,
		progress: progressOption(given.progress),
		summary: given.summary,
		resources: given.resource,
		host: given.host,
		order: given.order,
		failFast: given.failFast,
		maxFailures: given.maxFailures,
		failuresShown: given.failuresShown,
	};
}

function progressOption(form: Progress): boolean | ProgressObserver {
	if (form === 'json') return new JsonProgressObserver();
	if (form === 'lines') return new LinesObserver(process.stderr);
	return form === 'bars';
}
