import { inspect } from 'node:util';
import { isBellisError } from '../errors.js';
import { exitCodes } from './exit-codes.js';
import { printError } from './output.js';
import { UsageError } from './usage-error.js';

/** Prints what ended a command, in one line where that says it all, and gives the exit code for it. */
export function reportFailure(error: unknown): number {
	if (isBellisError(error, 'ERR_BELLIS_INTERRUPTED')) {
		printError(`error: ${error.message}`);
		return error.exitCode;
	}
	if (isBellisError(error) || error instanceof UsageError) {
		printError(`error: ${error.message}`);
		return isBellisError(error, 'ERR_BELLIS_ABANDONED') ? exitCodes.abandoned : exitCodes.usage;
	}
	// Thrown by a block in serial mode, or a fault of ours: the stack is needed either way.
	printError(inspect(error));
	return exitCodes.failed;
}
