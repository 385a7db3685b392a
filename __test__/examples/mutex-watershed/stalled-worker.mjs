// Preloaded into the processes of a run: a worker writes a file when it starts and then never goes on.
// The driver, which has no context, goes its way.
import { writeFileSync } from 'node:fs';

if (process.env.BELLIS_CONTEXT !== undefined) {
	process.on('SIGINT', () => {});
	writeFileSync(process.env.BELLIS_TEST_STALLED, '');
	setInterval(() => {}, 1_000_000);
	await new Promise(() => {});
}
