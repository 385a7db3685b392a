import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What {@link availableWorkers} looks at; tests give their own. */
export interface Machine {
	/** Processors that the process may run on. */
	readonly parallelism: () => number;
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Text of a file, or null when it can't be read. */
	readonly readText: (path: string) => string | null;
}

const thisMachine: Machine = {
	parallelism: availableParallelism,
	env: process.env,
	readText: (path) => {
		try {
			return readFileSync(path, 'utf8');
		} catch {
			return null;
		}
	},
};

/**
 * How many workers `maxWorkers: 'auto'` stands for: the smallest of the processors that the process
 * may run on, its cgroup's share of processor time rounded down, and what SLURM
 * (`SLURM_CPUS_PER_TASK`) or LSF (`LSB_DJOB_NUMPROC`) granted the job; at least 1.
 */
export function availableWorkers(machine: Machine = thisMachine): number {
	const limits = [
		machine.parallelism(),
		cgroupLimit(machine),
		jobLimit(machine.env.SLURM_CPUS_PER_TASK),
		jobLimit(machine.env.LSB_DJOB_NUMPROC),
	].filter((limit) => limit !== null);
	return Math.max(1, Math.floor(Math.min(...limits)));
}

function jobLimit(value: string | undefined): number | null {
	return value !== undefined && /^[1-9]\d*$/.test(value.trim()) ? Number(value) : null;
}

/** Processors' worth of time that the cgroup allows, by version 2 or 1. */
function cgroupLimit(machine: Machine): number | null {
	const limits: number[] = [];
	for (const directory of cgroupDirectories(machine.readText('/proc/self/cgroup'))) {
		const [quota, period] = machine.readText(`${directory}/cpu.max`)?.trim().split(/\s+/) ?? [
			machine.readText(`${directory}/cpu.cfs_quota_us`)?.trim(),
			machine.readText(`${directory}/cpu.cfs_period_us`)?.trim(),
		];
		const limit = Number(quota) / Number(period);
		// 'max' and -1 mean without limit
		if (Number.isFinite(limit) && limit > 0) limits.push(limit);
	}
	return limits.length === 0 ? null : Math.min(...limits);
}

/** The process's own cgroup, as far as it is visible, and those above it: any of them may limit. */
function cgroupDirectories(membership: string | null): string[] {
	const directories = new Set(['/sys/fs/cgroup', '/sys/fs/cgroup/cpu']);
	for (const line of membership?.trim().split('\n') ?? []) {
		const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
		if (match === null) continue;
		const [, controllers, path] = match as unknown as [string, string, string];
		const version2 = controllers === '';
		if (!version2 && !controllers.split(',').includes('cpu')) continue;
		const root = version2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu';
		const parts = path.split('/').filter((part) => part !== '' && part !== '..');
		for (let depth = 1; depth <= parts.length; depth++) {
			directories.add(`${root}/${parts.slice(0, depth).join('/')}`);
		}
	}
	return [...directories];
}
