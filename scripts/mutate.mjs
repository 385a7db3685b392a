// Breaks the scheduler and the run on purpose, one place at a time, and shows that the simulator notices, or for the
// few things that it can't see (an order, a call that only a bad driver makes) the suite that is named.
// Works on a copy below target/, so the checkout stays as it is. `node scripts/mutate.mjs [WORD]` runs those whose title has WORD.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root, run, script } from './process.mjs';

/** Enough to meet each of the faults many times. */
const histories = '20000';

/** Each `line` occurs once in its file, or as often as `times` says; `suite` is the one that must fail. */
const mutations = [
	{
		title: 'a block is ready before the last one that it waits for',
		file: 'scheduler/unlock.rs',
		line: 'let needed = turn.steps.len() as u64;',
		broken: 'let needed = (turn.steps.len() as u64).max(2) - 1;',
	},
	{
		title: 'a skipped block counts twice',
		file: 'scheduler/unlock.rs',
		line: 'slot.counters.completed += 1;',
		broken: 'slot.counters.completed += 1 + u64::from(skipped);',
	},
	{
		title: 'only the first of the blocks that read a finished one counts it',
		file: 'scheduler/unlock.rs',
		line: 'if states.count_up(start + k as u64, needed) {',
		broken: 'if entries == readers.low && states.count_up(start + k as u64, needed) {',
	},
	{
		title: 'orphans are not counted',
		file: 'scheduler/unlock.rs',
		line: 'slot.counters.orphaned += 1;',
		broken: '',
	},
	{
		title: 'a failed block is tried once too often',
		file: 'scheduler/attempts.rs',
		line: 'if *attempts <= max_retries && ',
		broken: 'if *attempts <= max_retries + 1 && ',
	},
	{
		title: 'a block is returned that nobody holds',
		file: 'scheduler/mod.rs',
		line: 'Some(slot) if slot.states.get(block.0) == Some(PROCESSING) => {\n                slot.counters.processing -= 1;',
		broken:
			'Some(slot) if slot.states.get(block.0).is_some() => {\n                slot.counters.processing = slot.counters.processing.saturating_sub(1);',
		suite: 'behaviour',
	},
	{
		title: 'a block that was taken back goes to the end of the queue',
		file: 'scheduler/mod.rs',
		line: 'slot.queue.push_head(block.0);',
		broken: 'slot.queue.push_back(block.0);',
		suite: 'behaviour',
	},
	{
		title: 'a finished block releases nothing in later tasks',
		file: 'scheduler/unlock.rs',
		line: 'let readers = readers_box(grid, next_grid, &entries);',
		broken: 'let readers = readers_box(next_grid, grid, &entries);',
	},
	{
		title: 'a block is granted again while its dead worker may live',
		file: 'run/losses.rs',
		line: '(connection.local && (confirmable || unseen)).then_some(wait)',
		broken: '(!connection.local && (confirmable || unseen)).then_some(wait)',
	},
	{
		title: 'grants that were lost on the way are forgotten',
		file: 'run/arrivals.rs',
		line: 'self.give_back_all(task, &lost);',
		broken: 'self.give_back_all(task, &[]);',
	},
	{
		title: 'a late answer is taken for one of the present',
		file: 'run/connections.rs',
		line: '(connection.generation == conn.generation).then_some(connection)',
		broken: 'Some(connection)',
		times: 2,
	},
	{
		title: 'a silent worker is waited for without end',
		file: 'run/liveness.rs',
		line: 'return Some(Finding::Lost(LossKind::Silent));',
		broken: 'return None;',
	},
	{
		title: 'workers are started beyond the budget',
		file: 'run/starts.rs',
		line: '&& state.starts < state.start_budget()',
		broken: '&& state.starts <= state.start_budget()',
	},
];

const copy = join(root, 'target', 'mutations');

async function test(suite) {
	const args = ['test', '--profile', 'simulate', '-p', 'bellis-core', '--test', suite];
	const env = { BELLIS_SIM_HISTORIES: histories, CARGO_TARGET_DIR: join(copy, 'target') };
	return run('cargo', args, { cwd: copy, env, capture: true, allowFailure: true });
}

async function mutate({ title, file, line, broken, times = 1, suite = 'simulator' }) {
	const path = join(copy, 'crates', 'core', 'src', file);
	const whole = await readFile(path, 'utf8');
	const parts = whole.split(line);
	if (parts.length !== times + 1) {
		throw new Error(`'${title}': the line to break occurs ${parts.length - 1} times in ${file}`);
	}
	await writeFile(path, parts.join(broken));
	const { code, output } = await test(suite);
	await writeFile(path, whole);
	if (output.includes('could not compile')) throw new Error(`'${title}' doesn't compile`);
	return code !== 0 && output.includes(suite === 'simulator' ? 'BELLIS_SIM_SEED=' : 'FAILED');
}

script(async () => {
	await mkdir(copy, { recursive: true });
	for (const part of ['Cargo.toml', 'Cargo.lock', 'crates', '__test__/vectors']) {
		await rm(join(copy, part), { recursive: true, force: true });
		await cp(join(root, part), join(copy, part), { recursive: true });
	}
	const word = process.argv[2] ?? '';
	const chosen = mutations.filter(({ title }) => title.includes(word));
	for (const suite of new Set(chosen.map((mutation) => mutation.suite ?? 'simulator'))) {
		if ((await test(suite)).code !== 0) throw new Error(`${suite} fails without a mutation`);
	}
	const survivors = [];
	for (const mutation of chosen) {
		const noticed = await mutate(mutation);
		console.log(`${noticed ? 'noticed' : 'SURVIVED'}: ${mutation.title}`);
		if (!noticed) survivors.push(mutation.title);
	}
	if (survivors.length > 0) throw new Error(`not noticed: ${survivors.join('; ')}`);
});
