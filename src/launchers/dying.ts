import { readFileSync } from 'node:fs';

/** The kernel's mark on a process that is on its way out, in the flags of `/proc/<pid>/stat`. */
const PF_EXITING = 4;

/**
 * Whether a process is ending by itself: what is sent to it now isn't what ends it. Its sockets are closed a
 * little before its parent hears of it. False where that can't be told, as on systems without `/proc`.
 */
export function isDying(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
		// the name of the program comes first, and may hold anything
		const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		// ppid, pgrp, session, tty and its group, then the flags
		return /[ZXx]/.test(state!) || (Number(fields[5]) & PF_EXITING) !== 0;
	} catch {
		return false;
	}
}
