// What the pipeline of the pictures does with a block: nothing, for some time; one block always fails.
import { setTimeout } from 'node:timers/promises';

export default async function processBlock(block, { config }) {
	await setTimeout(config.milliseconds * (0.5 + Math.random()));
	if (block.id === config.failing) throw new RangeError(`no overlap in ${block.id}`);
}
