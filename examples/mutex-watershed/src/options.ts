import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';

/** How the work is given to the workers: block by block, or as a loop of their own. */
export type Mode = 'block-function' | 'worker-function';

const MODES: readonly Mode[] = ['block-function', 'worker-function'];

/** The command line, understood. */
export interface Options {
	readonly mode: Mode;
	/** False: everything runs in this process, one block at a time. */
	readonly multiprocessing: boolean;
	/** Absolute path of the folder for volumes, logs and pictures. */
	readonly out: string;
}

/**
 * Reads the command line.
 *
 * @param args the arguments after the program's name
 * @param configure sets the command up further; tests catch its output and its end this way
 */
export function parseOptions(
	args: readonly string[],
	configure: (command: Command) => void = () => {},
): Options {
	const command = new Command('mutex-watershed')
		.description('Segments an image tile by tile with the mutex watershed, in four runs.')
		.addOption(
			new Option('--mode <mode>', `how work is given to workers: ${MODES.join(' or ')}`)
				.default('block-function' satisfies Mode)
				.argParser(parseMode),
		)
		.option('--multiprocessing', 'run blocks in worker processes', true)
		.option('--no-multiprocessing', 'run blocks in this process, one at a time')
		.option('--out <directory>', 'where arrays, logs and pictures go', 'demo-output')
		.allowExcessArguments(false);
	configure(command);
	command.parse(args, { from: 'user' });

	const { mode, multiprocessing, out } = command.opts<Options>();
	if (mode === 'worker-function' && !multiprocessing) {
		command.error(
			'error: --mode worker-function needs worker processes; it does not go with --no-multiprocessing, which calls a function block by block',
		);
	}
	return { mode, multiprocessing, out: resolve(out) };
}

function parseMode(value: string): Mode {
	const mode = MODES.find((known) => known === value.replaceAll('_', '-'));
	if (!mode) throw new InvalidArgumentError(`Known modes are ${MODES.join(' and ')}.`);
	return mode;
}
