import { InvalidArgumentError, Option } from 'commander';
import { nearestName } from '../nearest-name.js';

/** Options that `run` and `plan` share. */
export interface PipelineArguments {
	export?: string;
	workers?: number | 'auto';
	trackingDir?: string;
	resource?: Record<string, number>;
}

/** The option for the export, shared by `run` and `plan`. */
export const exportOption = () =>
	new Option(
		'-e, --export <name>',
		'which export of FILE; default: the default one, or the only one',
	);

/** The option for the number of workers, shared by `run` and `plan`. */
export const workersOption = () =>
	new Option('-w, --workers <n>', "maxWorkers of every task: a number, or 'auto'").argParser(
		(text) => (text === 'auto' ? 'auto' : wholeNumber(1, ', or auto')(text)),
	);

/** The option for the tracking directory, shared by `run` and `plan`. */
export const trackingDirOption = () =>
	new Option('--tracking-dir <dir>', 'directory below which tasks keep what is done');

/** The option for the budget of resources, shared by `run` and `plan`. */
export const resourceOption = () =>
	new Option('--resource <name=amount>', 'what all workers may use up together').argParser(
		resourceAmount,
	);

/**
 * Takes a whole number from `least` on.
 *
 * @param other what else would do, for the message
 */
export function wholeNumber(least: number, other = ''): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value;
		throw new InvalidArgumentError(`It must be a whole number from ${least}${other}.`);
	};
}

/** Takes one of some words, and says which one was likely meant. */
export function oneOf<Word extends string>(...words: Word[]): (text: string) => Word {
	return (text) => {
		const word = words.find((one) => one === text);
		if (word !== undefined) return word;
		const near = nearestName(text, words);
		throw new InvalidArgumentError(
			`It must be one of ${words.join(', ')}.${near ? `\n(Did you mean ${near}?)` : ''}`,
		);
	};
}

/** Takes `name=amount`, again and again. */
function resourceAmount(
	text: string,
	earlier: Record<string, number> = {},
): Record<string, number> {
	const [, name, amount] = /^([^=]+)=(\d+)$/.exec(text) ?? [];
	if (name === undefined) throw new InvalidArgumentError('It must be NAME=AMOUNT, such as gpu=2.');
	return { ...earlier, [name]: Number(amount) };
}
