// Breaks the scheduler on purpose, one place at a time in a copy of the sources, and shows which tests notice.
// `node scripts/mutate-scheduler.mjs` fails when a break goes unnoticed, or when the simulator notices fewer than three.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, script } from './process.mjs';

const unlock = 'crates/core/src/scheduler/unlock.rs';
const scheduler = 'crates/core/src/scheduler/mod.rs';
const attempts = 'crates/core/src/scheduler/attempts.rs';

/** What is broken: the text that stands in a file, and what it becomes. */
const mutations = [
	{
		name: 'a block starts before the last one that it waits for',
		file: unlock,
		from: 'let needed = turn.steps.len() as u64;',
		to: 'let needed = (turn.steps.len() as u64).max(2) - 1;',
	},
	{
		name: 'ends of blocks are not counted in downstream tasks beyond the first block of a box',
		file: unlock,
		from: 'if states.count_up(start + k as u64, needed) {',
		to: 'if entries == readers.low && states.count_up(start + k as u64, needed) {',
	},
	{
		name: 'orphans are not counted',
		file: unlock,
		from: 'slot.counters.orphaned += 1;',
		to: '',
	},
	{
		name: 'a block is returned that nobody holds',
		file: scheduler,
		from: 'Some(slot) if slot.states.get(block.0) == Some(PROCESSING) => {\n                slot.counters.processing -= 1;',
		to: 'Some(slot) if slot.states.get(block.0).is_some() => {\n                slot.counters.processing = slot.counters.processing.saturating_sub(1);',
	},
	{
		name: 'a failed block is tried once too often',
		file: attempts,
		from: 'if *attempts <= max_retries && ',
		to: 'if *attempts <= max_retries + 1 && ',
	},
	{
		name: 'a block that was taken back goes to the end of the queue',
		file: scheduler,
		from: 'slot.queue.push_head(block.0);',
		to: 'slot.queue.push_back(block.0);',
	},
];

/** Breaks the scheduler in each place and runs the test suites of core. */
export async function mutateScheduler() {
	const copy = await mkdtemp(path.join(tmpdir(), 'bellis-mutants-'));
	try {
		await copySources(copy);
		const suites = (await readdir(path.join(root, 'crates/core/tests'))).sort();
		await expectAllPass(copy, suites);
		const lines = [];
		let unnoticed = 0;
		let bySimulator = 0;
		for (const mutation of mutations) {
			const file = path.join(copy, mutation.file);
			const original = await readFile(file, 'utf8');
			if (original.split(mutation.from).length !== 2) {
				throw new Error(`${mutation.file} must hold once: ${mutation.from}`);
			}
			await writeFile(file, original.replace(mutation.from, mutation.to));
			const noticed = [];
			for (const suite of suites) {
				const { code, output } = await test(copy, suite);
				if (output.includes('could not compile')) throw new Error(`no mutant: ${mutation.name}`);
				if (code !== 0) noticed.push(suite);
			}
			await writeFile(file, original);
			unnoticed += Number(noticed.length === 0);
			bySimulator += Number(noticed.includes('simulator'));
			lines.push(`${mutation.name}: ${noticed.join(', ') || 'NOT NOTICED'}`);
		}
		console.log(`\n${lines.join('\n')}`);
		if (unnoticed > 0) throw new Error(`${unnoticed} breaks went unnoticed`);
		if (suites.includes('simulator') && bySimulator < 3) {
			throw new Error(`the simulator noticed only ${bySimulator} breaks`);
		}
		console.log(`all ${mutations.length} breaks were noticed, ${bySimulator} by the simulator`);
	} finally {
		await rm(copy, { recursive: true, force: true });
	}
}

async function copySources(copy) {
	for (const name of ['Cargo.toml', 'Cargo.lock', 'crates', '__test__/vectors']) {
		await cp(path.join(root, name), path.join(copy, name), { recursive: true });
	}
}

async function expectAllPass(copy, suites) {
	for (const suite of suites) {
		const { code } = await test(copy, suite);
		if (code !== 0) throw new Error(`${suite} fails without any break`);
	}
}

function test(cwd, suite) {
	const args = ['test', '--quiet', '--profile', 'simulate', '-p', 'bellis-core', '--test', suite];
	return run('cargo', args, {
		cwd,
		capture: true,
		allowFailure: true,
		env: { CARGO_TARGET_DIR: path.join(root, 'target/mutants'), RUST_BACKTRACE: '0' },
	});
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) script(mutateScheduler);
