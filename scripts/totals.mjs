// Adds up the totals that the test runners print themselves.

import { stripVTControlCharacters as plain } from 'node:util';

/** Sum of cargo's `test result: …` lines. */
export function cargoTotals(output) {
	let passed = 0;
	let failed = 0;
	let ignored = 0;
	const lines = plain(output).matchAll(
		/test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/g,
	);
	for (const [, p, f, i] of lines) {
		passed += Number(p);
		failed += Number(f);
		ignored += Number(i);
	}
	return { passed, failed, skipped: ignored };
}

/** ava's closing lines: `N tests passed`, `N tests failed`, `N tests skipped`, and failures outside of tests. */
export function avaTotals(output) {
	const count = (pattern) => {
		const found = [...plain(output).matchAll(pattern)].at(-1);
		return found ? Number(found[1]) : 0;
	};
	return {
		passed: count(/^\s*(\d+) tests? passed/gm),
		failed:
			count(/^\s*(\d+) tests? failed/gm) +
			count(/^\s*(\d+) uncaught exceptions?/gm) +
			count(/^\s*(\d+) unhandled rejections?/gm),
		skipped: count(/^\s*(\d+) tests? skipped/gm),
	};
}
