import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';

const made = fileURLToPath(new URL('../../.build/peer-daisy-2.0.0/bin/python', import.meta.url));
const script = fileURLToPath(
	new URL('../../crates/tracking/tests/interchange/daisy_run.py', import.meta.url),
);

/**
 * The Python with daisy 2.0.0 that `npm test` made or that `BELLIS_DAISY_PYTHON` names; null where there is
 * none, which is an error where `BELLIS_REQUIRE_DAISY` is set.
 */
export function daisyPython(t: ExecutionContext): string | null {
	const python = process.env.BELLIS_DAISY_PYTHON ?? (existsSync(made) ? made : null);
	if (python === null) {
		const text = 'not checked: no Python with daisy 2.0.0 (set BELLIS_DAISY_PYTHON)';
		if (process.env.BELLIS_REQUIRE_DAISY) throw new Error(text);
		t.log(text);
		t.pass();
	}
	return python;
}

/** What daisy did with a task. Ids are block numbers. */
export interface DaisyAnswer {
	readonly ran: number[];
	readonly completed: number;
	readonly skipped: number;
	readonly failed: number[];
	readonly arrays?: Record<string, (number | string)[]>;
	readonly hash?: string;
}

/** Has daisy answer all requests in one process; see its script. */
export function askDaisy(python: string, cwd: string, requests: object[]): DaisyAnswer[] {
	const { status, stdout, stderr } = spawnSync(python, [script], {
		cwd,
		input: JSON.stringify(requests),
		encoding: 'utf8',
		maxBuffer: 1 << 26,
	});
	if (status !== 0) throw new Error(stderr);
	return JSON.parse(stdout.trimEnd().split('\n').at(-1)!);
}
