/** The known name that was most likely meant by `name`, or null when none is near. */
export function nearestName(
	name: string,
	known: readonly string[],
	synonyms: Readonly<Record<string, string>> = {},
): string | null {
	const camel = name.replace(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase());
	const synonym = Object.entries(synonyms).find(
		([key]) => key.toLowerCase() === camel.toLowerCase(),
	);
	if (synonym !== undefined) return synonym[1];
	let best: string | null = null;
	let bestDistance = Number.POSITIVE_INFINITY;
	for (const candidate of known) {
		const distance = editDistance(camel.toLowerCase(), candidate.toLowerCase());
		if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
	}
	return best !== null && bestDistance <= Math.max(2, Math.floor(best.length / 3)) ? best : null;
}

/** Insertions, deletions and replacements that lead from one word to the other. */
function editDistance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, j) => j);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
		}
		row = next;
	}
	return row[b.length]!;
}
