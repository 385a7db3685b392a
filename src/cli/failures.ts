import type { Command } from 'commander';
import { counted } from '../report/quantity.js';
import type { FailedBlock } from '../tracking/tracking-store.js';
import { exitCodesHelp } from './exit-codes.js';
import { openStore } from './open-store.js';
import { print, printJson } from './output.js';
import { regionText } from './region-text.js';

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
			else print(...failuresText(failed));
		});
}

/** The failed blocks, one a line. */
export function failuresText(failed: readonly FailedBlock[]): string[] {
	if (failed.length === 0) return ['no block has failed'];
	const names = failed.map(({ id, cell }) => id ?? `cell (${cell.join(', ')})`);
	const width = Math.max(...names.map((name) => name.length));
	return failed.map(({ block, attempts }, i) => {
		const where = block === null ? '' : `  writes ${regionText(block.writeRoi)}`;
		const tries = counted(attempts, 'failed attempt');
		return `${names[i]?.padEnd(width)}  ${tries}${where}`;
	});
}

function plainFailure({ id, block, cell, attempts }: FailedBlock) {
	return { id, cell, attempts, writeRoi: block?.writeRoi.toJSON() ?? null };
}
