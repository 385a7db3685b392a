import type { Command } from 'commander';
import stringWidth from 'string-width';
import type { Block } from '../block.js';
import { padColumns } from '../report/flow.js';
import { plainName } from '../report/plain-text.js';
import { counted } from '../report/quantity.js';
import { intervalsOf } from '../report/region-text.js';
import type { FailedBlock } from '../tracking/tracking-store.js';
import { exitCodesHelp } from './exit-codes.js';
import { openStore } from './open-store.js';
import { print, printJson } from './output.js';

const examples = `
Examples:
  $ bellis failures /data/run/fragments
  $ bellis failures /data/run/fragments --json | jq -r '.[].id'`;

/** Adds `bellis failures PATH`. */
export function addFailuresCommand(program: Command): void {
	program
		.command('failures')
		.summary('which blocks have failed and are not done')
		.description('Lists the blocks of a tracking store that failed in some run and are not done.')
		.argument('<path>', 'a tracking store')
		.option('--json', 'as JSON on stdout')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (path: string, { json }: { json?: boolean }) => {
			const store = await openStore(path);
			const failed = await store.failedBlocks();
			if (json) printJson(failed.map(plainFailure));
			else print(failuresText(failed));
		});
}

/** The failed blocks, one a line. */
export function failuresText(failed: readonly FailedBlock[]): string[] {
	if (failed.length === 0) return ['no block has failed'];
	const names = failed.map(({ id, cell }) => plainName(id ?? `cell (${cell.join(', ')})`));
	const width = names.reduce((most, name) => Math.max(most, stringWidth(name)), 0);
	return failed.map(({ block, attempts }, i) => {
		const where = block === null ? '' : `  writes ${writtenText(block)}`;
		const tries = counted(attempts, 'failed attempt');
		return `${padColumns(names[i] ?? '', width)}  ${tries}${where}`;
	});
}

function writtenText({ writeRoi: { begin, end } }: Block): string {
	return intervalsOf(begin.toArray(), end.toArray());
}

function plainFailure({ id, block, cell, attempts }: FailedBlock) {
	return { id, cell, attempts, writeRoi: block?.writeRoi.toJSON() ?? null };
}
