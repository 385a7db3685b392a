import type { Exit } from './launcher.js';

/** The exit code of a worker whose own watchdog ended it because a block ran too long. */
export const TIMEOUT_EXIT_CODE = 87;
/** The exit code of a worker on another machine that was given a loopback address. */
export const LOOPBACK_EXIT_CODE = 3;

/** What is known about a process besides its code and signal. */
export interface ExitSigns {
	/** Whether the kernel killed something in the worker's memory group while it lived. */
	readonly memoryKill?: boolean;
	/** Whether the driver asked for the end. */
	readonly stopped?: boolean;
}

/**
 * Whether a stop ended a worker that the driver asked to stop. One that was already dying of something else, such
 * as a crash, died of that: its line to the driver is gone a little before its process is.
 */
export function endedByStop({ code, signal }: Exit, asked: boolean): boolean {
	if (!asked || code === TIMEOUT_EXIT_CODE) return false;
	return !signal || signal === 'SIGTERM' || signal === 'SIGKILL';
}

/** How a worker ended, in words: `exited with code 3`, `killed by SIGKILL (for memory)`. */
export function exitWords(exit: Exit, signs: ExitSigns = {}): string {
	const { code, signal, stderrTail = '' } = exit;
	const heap = /JavaScript heap out of memory/.test(stderrTail);
	const suffix = endedByStop(exit, signs.stopped ?? false) ? ', stopped by the run' : '';
	if (signal) {
		if (heap) return `ran out of JavaScript heap memory (${signal})${suffix}`;
		if (signal === 'SIGKILL' && signs.memoryKill && !signs.stopped) {
			return 'killed for memory by the system (SIGKILL)';
		}
		if (signal === 'SIGKILL' && !signs.stopped) {
			return 'killed by SIGKILL (from outside, perhaps for memory)';
		}
		if (signal === 'SIGABRT') return `aborted (SIGABRT)${suffix}`;
		if (signal === 'SIGSEGV' || signal === 'SIGBUS' || signal === 'SIGILL') {
			return `crashed with ${signal}${suffix}`;
		}
		return `killed by ${signal}${suffix}`;
	}
	if (code === null) return `ended${suffix}`;
	if (code === TIMEOUT_EXIT_CODE) {
		return 'ended by its watchdog: a block ran longer than timeoutMs (code 87)';
	}
	if (code === 134 && heap) return `ran out of JavaScript heap memory (code 134)${suffix}`;
	if (code > 128 && code < 165) {
		// a shell reports a child's signal so
		return `exited with code ${code} (as a shell reports signal ${code - 128})${suffix}`;
	}
	return `exited with code ${code}${suffix}`;
}
