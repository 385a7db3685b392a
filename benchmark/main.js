// Entry of `npm run bench`: `drain`, `calls`, `resume`, `throughput`, `connections`, `progress`, `timers`.
import { Command, Option } from 'commander';
import { machine, printTable, writeJson } from './results.js';

const suites = {
	drain: 'blocks per second from the scheduler alone',
	calls: 'what a call into the addon costs',
	resume: 'taking in a finished or half-finished run',
	throughput: 'whole runs of short blocks on worker processes',
	connections: 'thousands of connected workers',
	progress: 'what the progress display costs',
	timers: 'how late the timers of a driving program are',
};

const program = new Command('npm run bench --').description(
	'Measures bellis beside its peers in one run.',
);
for (const [name, description] of Object.entries(suites)) {
	program
		.command(name)
		.description(description)
		.option('--json <file>', 'write the rows as JSON')
		.option('--quick', 'fewer cases and repeats')
		.addOption(new Option('--no-peers', 'leave the Python and Node peers out'))
		.action(async (options) => {
			console.log(JSON.stringify(machine()));
			const { measure } = await import(`./${name}.js`);
			const results = await measure(options);
			console.log('');
			printTable(results);
			if (options.json) writeJson(options.json, results);
		});
}
await program.parseAsync();
