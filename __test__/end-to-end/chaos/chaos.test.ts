import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { Context } from '../../../src/context.js';
import type { Launcher, LaunchSpec } from '../../../src/launchers/launcher.js';
import { LocalLauncher } from '../../../src/launchers/local.js';
import { Server } from '../../../src/run/server.js';
import type { Task } from '../../../src/task/task.js';
import { fixture, gone, line, lives, Scratch } from '../scratch.js';
import { BadNetwork } from './bad-network.js';
import { Dice } from './dice.js';
import { Guests } from './guests.js';
import { Strangers } from './strangers.js';

/** How long to make trouble. The longer, the more histories. */
const SECONDS = Number(process.env.BELLIS_CHAOS_SECONDS ?? 10);
const SEED = Number(process.env.BELLIS_TEST_SEED ?? Date.now() % 1_000_000);

/** Enough is enough: runs have to come to an end. */
const MOST_INJURIES = 8;

/** Longer than anything is waited for: a connection that stalls so long is given up. */
const LONGEST_PAUSE_MS = 6000;

/** One run and all that is done to it. */
class Trouble {
	readonly #scratch: Scratch;
	readonly #dice: Dice;
	readonly #pids: string;
	readonly #strangers = new Strangers();
	readonly #guests: Guests;
	readonly #blocks: number;
	readonly #concurrency: number;
	readonly #networked: boolean;
	#network: BadNetwork | undefined;
	/** Of the first worker, in the run's own words. */
	#context: Context | undefined;
	/** Things that may make a worker's running blocks run again. */
	injuries = 0;

	constructor(t: ExecutionContext, dice: Dice) {
		this.#scratch = new Scratch(t);
		this.#dice = dice;
		this.#pids = this.#scratch.path('pids');
		this.#guests = new Guests(this.#scratch.calls);
		this.#networked = dice.pick(2) > 0;
		this.#blocks = 20 + dice.pick(this.#networked ? 60 : 200);
		this.#concurrency = 1 + dice.pick(2) * dice.pick(4);
	}

	get others(): number {
		return this.#strangers.count + this.#guests.count;
	}

	/** Plays it, and checks what must hold in the end. */
	async play(t: ExecutionContext, name: string): Promise<void> {
		const run = new Server().runBlockwise(this.#task(), {
			...this.#scratch.quiet,
			trackingDir: this.#scratch.path('stores'),
		});
		let over = false;
		const state = run
			.then((states) => states.line!)
			.finally(() => {
				over = true;
			});
		while (!over) {
			const pause = 20 + this.#dice.pick(150);
			await Promise.race([state, new Promise((resolve) => setTimeout(resolve, pause))]);
			if (!over) this.#hurt();
		}
		const { completed, failed, orphaned, total } = await state;
		this.#strangers.leave();
		this.#network?.close();
		await this.#guests.gone();
		const blocks = this.#blocks;
		t.deepEqual([completed, failed, orphaned, total], [blocks, 0, 0, blocks], name);
		t.is(Object.keys(this.#scratch.callsOf()).length, blocks, name);
		// a block runs again only where it was running in a worker that was hurt
		const again = this.#scratch.lines().length - blocks;
		t.true(again <= this.injuries * this.#concurrency, `${name}: ${again} again`);
		const done = readFileSync(this.#scratch.path('stores/line/done/c/0'));
		t.true(
			done.every((mark) => mark === 1),
			name,
		);
		await gone(this.#known());
	}

	#task(): Task {
		const dice = this.#dice;
		// where nobody reads a dead worker's notes, blocks are so long that each travels alone
		const ms = this.#networked ? 20 + dice.pick(10) : dice.pick(8);
		return line(
			this.#scratch,
			this.#blocks,
			{},
			{
				processFunction: { module: fixture('noop.js'), export: 'works' },
				config: { calls: this.#scratch.calls, pids: this.#pids, ms },
				maxWorkers: 1 + dice.pick(4),
				maxRetries: 1000,
				maxWorkerRestarts: 1000,
				concurrency: this.#concurrency,
				...(this.#networked && { launcher: this.#launcher() }),
			},
		);
	}

	/** Starts workers here whose way to the run is a bad network. */
	#launcher(): Launcher {
		const local = new LocalLauncher();
		return {
			start: async (spec: LaunchSpec, signal: AbortSignal) => {
				this.#context ??= spec.context;
				this.#network ??= await BadNetwork.to(spec.context.port, this.#dice);
				const { BELLIS_CONTEXT: context } = spec.env;
				const env = {
					...spec.env,
					BELLIS_CONTEXT: context!.replace(/port=\d+/, `port=${this.#network.port}`),
				};
				return local.start({ ...spec, env }, signal);
			},
		};
	}

	#known(): number[] {
		if (!existsSync(this.#pids)) return [];
		return [...new Set(readFileSync(this.#pids, 'utf8').trimEnd().split('\n').map(Number))];
	}

	/** Does something bad to somebody. */
	#hurt(): void {
		const dice = this.#dice;
		this.#lookForContext();
		if (this.#context && dice.pick(3) === 0) {
			const recorded = this.#network?.recorded ?? Buffer.alloc(0);
			if (dice.pick(3) > 0) this.#strangers.come(this.#context.port, dice, recorded);
			else this.#guests.come(this.#context, dice);
			return;
		}
		if (this.injuries >= MOST_INJURIES) return;
		if (this.#network && dice.pick(2) > 0) {
			const hurt =
				dice.pick(3) > 0
					? this.#network.cut(dice)
					: this.#network.stall(dice, dice.pick(LONGEST_PAUSE_MS));
			if (hurt) this.injuries++;
			return;
		}
		const alive = this.#known().filter(lives);
		if (alive.length === 0) return;
		this.#injure(alive[dice.pick(alive.length)]!);
	}

	#injure(victim: number): void {
		const dice = this.#dice;
		const how = dice.of(['SIGKILL', 'SIGKILL', 'SIGSTOP', 'cut'] as const);
		this.injuries++;
		if (how === 'cut') {
			// it closes its sockets itself when it comes to its next block
			writeFileSync(`${this.#pids}.cut.${victim}`, '');
			return;
		}
		signal(victim, how);
		if (how === 'SIGSTOP') setTimeout(() => signal(victim, 'SIGCONT'), dice.pick(LONGEST_PAUSE_MS));
	}

	/** Any worker's environment says where the run is. */
	#lookForContext(): void {
		const worker = this.#context ? undefined : this.#known().find(lives);
		if (worker === undefined) return;
		try {
			const environment = readFileSync(`/proc/${worker}/environ`, 'utf8').split('\0');
			const text = environment.find((entry) => entry.startsWith('BELLIS_CONTEXT='));
			if (text) this.#context = Context.parse(text.slice('BELLIS_CONTEXT='.length));
		} catch {
			// ended meanwhile
		}
	}
}

function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch {
		// ended meanwhile, or was given up and killed
	}
}

test.serial(
	'workers are killed, stopped, cut off and slowed down at random, among strangers and bad clients: every block is done, and nothing is left over',
	async (t) => {
		t.log(`BELLIS_TEST_SEED=${SEED}`);
		t.timeout((SECONDS + 60) * 1000);
		const dice = new Dice(SEED);
		const end = performance.now() + SECONDS * 1000;
		let [runs, injuries, others] = [0, 0, 0];
		while (performance.now() < end) {
			const trouble = new Trouble(t, dice);
			await trouble.play(t, `run ${runs}`);
			injuries += trouble.injuries;
			others += trouble.others;
			runs++;
		}
		t.log(`${runs} runs, ${injuries} injuries, ${others} strangers and bad clients`);
		t.true(injuries > 0);
		t.true(others > 0);
	},
);
