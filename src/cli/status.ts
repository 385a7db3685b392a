import type { Command } from 'commander';
import type { StoreStatus } from '../tracking/tracking-store.js';
import { exitCodesHelp } from './exit-codes.js';
import { openStores } from './open-store.js';
import { print, printJson } from './output.js';

const examples = `
Examples:
  $ bellis status /data/run/fragments
  $ bellis status /data/run                  # every store in the tracking directory
  $ bellis status /data/run/fragments --json`;

/** Adds `bellis status PATH`. */
export function addStatusCommand(program: Command): void {
	program
		.command('status')
		.summary('how far a task has come')
		.description('Says how many blocks of a tracking store are done and how many have failed.')
		.argument('<path>', 'a tracking store, or a directory of them')
		.option('--json', 'as JSON on stdout')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (path: string, { json }: { json?: boolean }) => {
			const stores = await openStores(path);
			const all = await Promise.all(stores.map((store) => store.status()));
			if (json) printJson(all.length === 1 ? all[0] : all);
			else print(all.map((status) => statusText(status).join('\n')).join('\n\n'));
		});
}

/** What a store knows, in lines. */
export function statusText(status: StoreStatus): string[] {
	const { blocks, done, failed, failedAttempts, heldBy } = status;
	const share = blocks === null || blocks === 0 ? '' : ` (${((100 * done) / blocks).toFixed(1)}%)`;
	const attempts = failedAttempts > 0 ? ` (${failedAttempts} failed attempts)` : '';
	const rows: [label: string, text: string][] = [
		['blocks', blocks === null ? 'unknown' : `${blocks}`],
		['done', `${done}${share}`],
		['failed', `${failed}${attempts}`],
		...(blocks === null ? [] : [['left', `${blocks - done}`] as [string, string]]),
		['measured', status.hasResources ? 'yes' : 'no'],
		['layout', status.layoutHash ?? 'unknown: the store has no hash'],
		[
			'in use',
			heldBy === null
				? 'no'
				: `by process ${heldBy.pid} on ${heldBy.host} since ${timeText(heldBy.since)}`,
		],
	];
	return [status.path, ...rows.map(([label, text]) => `    ${label.padEnd(10)}${text}`)];
}

/** UNIX seconds as a date and time in UTC. */
export function timeText(seconds: number): string {
	return new Date(seconds * 1000)
		.toISOString()
		.replace('T', ' ')
		.replace(/\.\d+Z$/, ' UTC');
}
