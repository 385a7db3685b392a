import type { Command } from 'commander';
import { readRunOptions } from '../run/options.js';
import {
	exportOption,
	type PipelineArguments,
	resourceOption,
	trackingDirOption,
	workersOption,
} from './arguments.js';
import { exitCodesHelp } from './exit-codes.js';
import { loadPipeline } from './load-pipeline.js';
import { print, printJson } from './output.js';
import { withMaxWorkers } from './overrides.js';
import { planOf } from './plan-data.js';
import { planText } from './plan-text.js';

const examples = `
Examples:
  $ bellis plan segment.js
  $ bellis plan pipeline.js --tracking-dir /data/run --json`;

/** Adds `bellis plan FILE`. */
export function addPlanCommand(program: Command): void {
	program
		.command('plan')
		.summary('say what a run would do, without running anything')
		.description(
			'Shows the tasks, blocks and regions of a pipeline, and what a run would skip. Nothing is run or written.',
		)
		.argument('<file>', 'JavaScript or TypeScript module that exports a Task or Pipeline')
		.addOption(exportOption())
		.addOption(workersOption())
		.addOption(trackingDirOption())
		.addOption(resourceOption())
		.option('--json', 'as JSON on stdout')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (file: string, given: PipelineArguments & { json?: boolean }) => {
			const loaded = await loadPipeline(file, given.export);
			const { workers, trackingDir, resource: resources } = given;
			const pipeline = workers === undefined ? loaded : withMaxWorkers(loaded, workers);
			const plan = await planOf(pipeline, readRunOptions({ trackingDir, resources }));
			if (given.json) printJson(JSON.parse(JSON.stringify(plan, plainCount)));
			else print(planText(plan));
		});
}

/** Exact counts as numbers where these are exact, else as text. */
function plainCount(_key: string, value: unknown): unknown {
	if (typeof value !== 'bigint') return value;
	return value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);
}
