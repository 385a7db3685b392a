import { once } from 'node:events';
import {
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	watch,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { Roi } from '../../src/geometry/roi.js';
import type { RunOptions } from '../../src/run/options.js';
import { Task, type TaskOptions } from '../../src/task/task.js';

/** A folder of a test, and what its blocks leave there. */
export class Scratch {
	readonly dir: string;
	/** File to which block functions append a line a call. */
	readonly calls: string;
	/** Options of a quiet run that logs here. */
	readonly quiet: RunOptions;

	constructor(t: ExecutionContext) {
		this.dir = mkdtempSync(join(tmpdir(), 'bellis-test-'));
		this.calls = join(this.dir, 'calls');
		// an observer, so that notices aren't printed either
		const progress = { onEvent: () => {} };
		this.quiet = { progress, summary: false, logDir: join(this.dir, 'logs') };
		t.teardown(() => rmSync(this.dir, { recursive: true, force: true }));
	}

	path(name: string): string {
		return join(this.dir, name);
	}

	/** Lines that block functions wrote, in order. */
	lines(): string[] {
		return existsSync(this.calls) ? readFileSync(this.calls, 'utf8').trimEnd().split('\n') : [];
	}

	/** How often each block's function was called. */
	callsOf(): Record<string, number> {
		const counts: Record<string, number> = {};
		for (const line of this.lines()) {
			const block = line.split(' ')[0]!;
			counts[block] = (counts[block] ?? 0) + 1;
		}
		return counts;
	}

	/** Process ids that ran blocks. */
	pids(): number[] {
		return [...new Set(this.lines().map((line) => Number(line.split(' ')[1])))];
	}

	/** Settles when the file is there. */
	async made(name: string): Promise<string> {
		await this.#watch(() => existsSync(this.path(name)));
		return this.path(name);
	}

	/** Settles when there are so many files with such a name. */
	madeLike(name: RegExp, count: number): Promise<void> {
		return this.#watch(() => readdirSync(this.dir).filter((one) => name.test(one)).length >= count);
	}

	async #watch(isSo: () => boolean): Promise<void> {
		const watcher = watch(this.dir);
		try {
			while (!isSo()) await once(watcher, 'change');
		} finally {
			watcher.close();
		}
	}

	/** Opens each gate as soon as a block waits for it, until something has happened. */
	async openAsAsked(until: Promise<unknown>): Promise<void> {
		const watcher = watch(this.dir);
		const open = () => {
			for (const name of readdirSync(this.dir)) {
				const [, gate] = /^(.+)\.waits\.\d+$/.exec(name) ?? [];
				if (gate !== undefined && !existsSync(this.path(gate))) this.open(gate);
			}
		};
		watcher.on('change', open);
		open();
		await until;
		watcher.close();
	}

	/** Opens a gate that blocks wait for. */
	open(name: string): void {
		writeFileSync(this.path(name), '');
	}
}

/** A 1-D task of `blocks` blocks of 10 without conflicts, whose function is `act` of `deeds.js`. */
export function line(
	scratch: Scratch,
	blocks: number,
	deeds: Record<string, unknown> = {},
	options: Partial<TaskOptions> = {},
): Task {
	return new Task({
		taskId: 'line',
		totalRoi: new Roi([0], [10 * blocks]),
		readRoi: new Roi([0], [10]),
		writeRoi: new Roi([0], [10]),
		readWriteConflict: false,
		processFunction: fixture('deeds.js'),
		config: { calls: scratch.calls, deeds },
		// the fixtures are plain JavaScript; a loader would only slow the workers
		execArgv: [],
		...options,
	});
}

/** A module of `__test__/fixtures`. */
export function fixture(name: string): URL {
	return new URL(`../fixtures/${name}`, import.meta.url);
}

/** Whether a process lives; one that nobody has waited for yet is dead. */
export function lives(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
	} catch {
		return false;
	}
}

/** Settles when none of the processes lives; the test's timeout is the limit. */
export async function gone(pids: readonly number[]): Promise<void> {
	while (pids.some(lives)) await new Promise((resolve) => setTimeout(resolve, 5));
}
