// A worker function that does nothing with each of its blocks.
import { Client } from '../../dist/index.js';

/** Takes blocks until there are no more. */
export default async function work() {
	const client = new Client();
	while (await client.process(() => {}));
}
