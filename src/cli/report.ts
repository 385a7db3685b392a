import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isBellisError } from '../errors.js';
import type { TaskReport } from '../index.js';
import { showsColours, symbolPaint } from '../progress/colours.js';
import { readReport } from '../tracking/read-report.js';
import { exitCodesHelp } from './exit-codes.js';
import { openStore } from './open-store.js';
import { printAsItIs, printJson } from './output.js';
import { reportText } from './report-text.js';
import { UsageError } from './usage-error.js';

const examples = `
Examples:
  $ bellis report /data/run/fragments
  $ bellis report bellis_logs/fragments      # a task without a store
  $ bellis report /data/run/fragments --json`;

/** Adds `bellis report PATH`. */
export function addReportCommand(program: Command): void {
	program
		.command('report')
		.summary('what the last run did and cost')
		.description(
			'Shows the summary and the resource utilization of the last run that was recorded in a tracking store, or in the log directory of a task without one.',
		)
		.argument('<path>', "a tracking store, or a task's log directory")
		.option('--json', 'as JSON on stdout, as runs.jsonl has it')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (path: string, { json }: { json?: boolean }) => {
			const report = await reportAt(path);
			if (json) printJson(report);
			else {
				const paint = symbolPaint(showsColours(process.stdout));
				printAsItIs(reportText(report, process.stdout.columns || 120, paint));
			}
		});
}

/** The report of a store, or of a folder of logs that has a record of runs. */
async function reportAt(path: string): Promise<TaskReport> {
	try {
		return await (await openStore(path)).report();
	} catch (noStore) {
		if (!(noStore instanceof UsageError)) throw noStore;
		try {
			return await readReport({ store: null, spec: null, logFolder: resolve(path) });
		} catch (noLogs) {
			if (isBellisError(noLogs)) throw noStore;
			throw noLogs;
		}
	}
}
