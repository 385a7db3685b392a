// Blocks that are each alone: so long that none is sent ahead. Between the end of one and the begin of the next
// its result travels to the driver and the next block back.
import { writeFileSync } from 'node:fs';

/** Longer than what the driver sends blocks ahead for, in milliseconds. */
const BLOCK_MS = 12;

const trips = [];
let ended = 0;

export default function spin() {
	if (ended > 0) trips.push(performance.now() - ended);
	const end = performance.now() + BLOCK_MS;
	while (performance.now() < end);
	ended = performance.now();
}

/** Leaves the times, in milliseconds, where the benchmark looks for them. */
export function teardown({ config }) {
	writeFileSync(config.file, JSON.stringify(trips));
}
