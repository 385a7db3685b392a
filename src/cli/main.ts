#!/usr/bin/env node
import { CommanderError } from 'commander';
import { exitCodes } from './exit-codes.js';
import { reportFailure } from './failure.js';
import { outputWritten, printError, reportLostOutput, surviveLostOutput } from './output.js';
import { makeProgram } from './program.js';

surviveLostOutput();

// A file whose top-level await never ends lets the process run out of things to do.
process.once('beforeExit', () => {
	printError('error: FILE never finished loading: something that it awaits never ends');
	process.exit(exitCodes.usage);
});

let exitCode: number = exitCodes.done;
try {
	const program = makeProgram((code) => {
		exitCode = code;
	});
	await program.parseAsync();
} catch (error) {
	exitCode = error instanceof CommanderError ? usageCode(error) : reportFailure(error);
}
await outputWritten();
if (reportLostOutput() && exitCode === exitCodes.done) exitCode = exitCodes.usage;
// The user's file may hold on to the process: what it opened is not the command's business.
process.exit(exitCode);

/** Asking for help or the version is no mistake; naming no command is. */
function usageCode({ exitCode: own }: CommanderError): number {
	return own === 0 ? exitCodes.done : exitCodes.usage;
}
