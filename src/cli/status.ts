import { resolve } from 'node:path';
import type { Command } from 'commander';
import { showsColours, statePaint } from '../progress/colours.js';
import { plainName } from '../report/plain-text.js';
import { counted } from '../report/quantity.js';
import type { StoreStatus } from '../tracking/tracking-store.js';
import { exitCodesHelp } from './exit-codes.js';
import { openStores } from './open-store.js';
import { printAsItIs, printJson } from './output.js';

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
		.option('--json', 'as JSON on stdout: an object, or an array for a directory of stores')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (path: string, { json }: { json?: boolean }) => {
			const stores = await openStores(path);
			const all = await Promise.all(stores.map((store) => store.status()));
			// What a program gets doesn't depend on how many stores there are in a directory.
			const isStore = all.length === 1 && all[0]!.path === resolve(path);
			if (json) printJson(isStore ? all[0] : all);
			else {
				const paint = statePaint(showsColours(process.stdout));
				printAsItIs(all.map((status) => statusText(status, paint).join('\n')).join('\n\n'));
			}
		});
}

/**
 * What a store knows, in lines.
 *
 * @param paint colours what is all done, what has failed and a store that is in use, as the summary does
 */
export function statusText(status: StoreStatus, paint = statePaint(false)): string[] {
	const { blocks, done, failed, failedAttempts, heldBy } = status;
	// Rounded down: nearly all isn't all.
	const percent = blocks ? Math.floor((1000 * done) / blocks) / 10 : 0;
	const share = blocks ? ` (${percent.toFixed(1)}%)` : '';
	const attempts = failedAttempts > 0 ? ` (${counted(failedAttempts, 'failed attempt')})` : '';
	const doneText = `${done}${share}`;
	const failedText = `${failed}${attempts}`;
	const rows: [label: string, text: string][] = [
		['blocks', blocks === null ? 'unknown' : `${blocks}`],
		['done', done === blocks ? paint.done(doneText) : doneText],
		['failed', failed > 0 ? paint.failed(failedText) : failedText],
		...(blocks === null ? [] : [['left', `${blocks - done}`] as [string, string]]),
		['measured', status.hasResources ? 'yes' : 'no'],
		['layout', status.layoutHash ?? 'unknown: the store has no hash'],
		['in use', heldBy === null ? 'no' : paint.running(holderText(heldBy))],
	];
	return [plainName(status.path), ...rows.map(([label, text]) => `    ${label.padEnd(10)}${text}`)];
}

function holderText({ pid, host, since }: NonNullable<StoreStatus['heldBy']>): string {
	return `by process ${pid} on ${plainName(host)} since ${timeText(since)}`;
}

/** UNIX seconds as a date and time in UTC. */
export function timeText(seconds: number): string {
	return new Date(seconds * 1000)
		.toISOString()
		.replace('T', ' ')
		.replace(/\.\d+Z$/, ' UTC');
}
