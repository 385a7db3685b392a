import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { nearestName } from '../nearest-name.js';
import { plainText } from '../report/plain-text.js';
import { exitCodesHelp } from './exit-codes.js';
import { addFailuresCommand } from './failures.js';
import { addPlanCommand } from './plan.js';
import { addReportCommand } from './report.js';
import { addResetCommand } from './reset.js';
import { addRunCommand } from './run.js';
import { addStatusCommand } from './status.js';

const examples = `
Examples:
  $ bellis plan segment.js                      # what would a run do?
  $ bellis run segment.js --workers 4 --tracking-dir /data/run
  $ bellis status /data/run/fragments           # how far is it?
  $ bellis failures /data/run/fragments         # what has failed?
  $ bellis report /data/run/fragments           # what did it cost?`;

/**
 * The command line.
 *
 * @param done is told the exit code of a command that has one of its own
 */
export function makeProgram(done: (exitCode: number) => void): Command {
	const program = new Command('bellis')
		.description('Runs blockwise work on huge volumes.')
		.version(version(), '-V, --version', 'print the version')
		.helpOption('-h, --help', 'print help')
		.showSuggestionAfterError()
		.exitOverride()
		.configureOutput({ outputError: (text, write) => write(plainText(text)) })
		.addHelpText('after', examples + exitCodesHelp);
	addRunCommand(program, done);
	addPlanCommand(program);
	addStatusCommand(program);
	addReportCommand(program);
	addFailuresCommand(program);
	addResetCommand(program);
	addHelpCommand(program);
	return program;
}

/** `bellis help COMMAND`, which knows what a mistyped command was meant to be as the others do. */
function addHelpCommand(program: Command): void {
	program
		.helpCommand(false)
		.command('help')
		.description('display help for command')
		.argument('[command]')
		.action((name?: string) => {
			const named =
				name === undefined ? program : program.commands.find((one) => one.name() === name);
			if (named) named.help();
			const near = nearestName(
				name ?? '',
				program.commands.map((one) => one.name()),
			);
			program.error(`error: unknown command '${name}'${near ? `\n(Did you mean ${near}?)` : ''}`);
		});
}

function version(): string {
	const manifest = new URL('../../package.json', import.meta.url);
	return JSON.parse(readFileSync(manifest, 'utf8')).version;
}
