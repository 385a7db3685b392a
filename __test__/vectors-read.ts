import { readFileSync } from 'node:fs';

/** A region as the golden cases write it: offset and shape; decimal strings where beyond 2^53. */
export type VectorRegion = [(number | string)[], (number | string)[]];

/** What all golden cases say about a task. */
export interface VectorTask {
	total: VectorRegion;
	read: VectorRegion;
	write: VectorRegion;
	fit: 'valid' | 'overhang' | 'shrink';
	conflict: boolean;
}

/** The lines of a golden vector file. */
export function readVectors<T>(name: string): T[] {
	const text = readFileSync(new URL(`./vectors/${name}`, import.meta.url), 'utf8');
	return text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as T);
}
