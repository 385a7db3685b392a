// Sets up what is out of date and runs every test: Rust, the simulator (optimised), types and TypeScript.
import { pathToFileURL } from 'node:url';
import { daisyEnvironment } from './daisy.mjs';
import { run, script } from './process.mjs';
import { setUp } from './setup.mjs';
import { avaTotals, cargoTotals } from './totals.mjs';

/** Random histories of the run's state machine that one test run drives. */
const histories = process.env.BELLIS_SIM_HISTORIES ?? '100000';

/** How long workers are killed, stopped, cut off and slowed down at random; a plain `npx ava` does it for less. */
const chaosSeconds = process.env.BELLIS_CHAOS_SECONDS ?? '60';

function report(name, totals) {
	console.log(
		`${name}: ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`,
	);
	return totals;
}

/** Runs all tests and prints the runners' totals, added up on the last line. Throws when any failed. */
export async function testAll() {
	await setUp();
	const daisy = await daisyEnvironment();
	const results = [];
	const outcomes = [];
	const step = async (name, command, args, totals, env) => {
		const { code, output } = await run(command, args, { capture: true, allowFailure: true, env });
		outcomes.push({ name, code });
		if (totals) results.push([name, totals(output)]);
	};
	await step(
		'cargo',
		'cargo',
		['test', '--workspace', '--locked', '--no-fail-fast'],
		cargoTotals,
		daisy,
	);
	await step(
		'simulator',
		'cargo',
		['test', '--locked', '--profile', 'simulate', '-p', 'bellis-core', '--test', 'simulator'],
		cargoTotals,
		{ BELLIS_SIM_HISTORIES: histories },
	);
	await step('types', 'npx', ['tsc', '-p', 'tsconfig.test.json']);
	await step('ava', 'npx', ['ava'], avaTotals, { BELLIS_CHAOS_SECONDS: chaosSeconds, ...daisy });

	console.log('');
	const sum = { passed: 0, failed: 0, skipped: 0 };
	for (const [name, totals] of results) {
		report(name, totals);
		for (const key of Object.keys(sum)) sum[key] += totals[key];
	}
	console.log(`\nTotal: ${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
	const broken = outcomes.filter(({ code }) => code !== 0).map(({ name }) => name);
	if (broken.length > 0) throw new Error(`tests failed in: ${broken.join(', ')}`);
	if (results.some(([, totals]) => totals.passed === 0))
		throw new Error('a runner executed no test');
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) script(testAll);
