import type { Command } from 'commander';
import { exitCodesHelp } from './exit-codes.js';
import { openStore } from './open-store.js';
import { print } from './output.js';

const examples = `
Examples:
  $ bellis reset /data/run/fragments            # the next run runs every block
  $ bellis reset /data/run/fragments --failed   # keeps what is done`;

/** Adds `bellis reset PATH`. */
export function addResetCommand(program: Command): void {
	program
		.command('reset')
		.summary('forget what is done, or only what has failed')
		.description(
			'Removes a tracking store, and nothing but what belongs to it. Refused while a run uses it.',
		)
		.argument('<path>', 'a tracking store')
		.option('--failed', 'forget only the failed attempts of blocks that are not done')
		.addHelpText('after', examples + exitCodesHelp)
		.action(async (path: string, { failed = false }: { failed?: boolean }) => {
			const store = await openStore(path);
			await store.reset({ failed });
			print([failed ? `forgot the failures in ${store.path}` : `removed ${store.path}`]);
		});
}
