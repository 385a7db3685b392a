import { readFileSync } from 'node:fs';

/**
 * How often the kernel has killed a process in this process's memory group (cgroup v2, or v1's
 * `memory.oom_control`); null where that can't be told.
 */
export function memoryKills(): number | null {
	for (const path of eventFiles()) {
		try {
			const match = /^oom_kill (\d+)$/m.exec(readFileSync(path, 'latin1'));
			if (match) return Number(match[1]);
		} catch {
			// not this kind of group
		}
	}
	return null;
}

let files: string[] | undefined;

function eventFiles(): string[] {
	files ??= findEventFiles();
	return files;
}

function findEventFiles(): string[] {
	if (process.platform !== 'linux') return [];
	const found = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];
	try {
		for (const line of readFileSync('/proc/self/cgroup', 'latin1').split('\n')) {
			const [id, controllers, group] = line.split(':');
			if (id === '0' && group) found.unshift(`/sys/fs/cgroup${group}/memory.events`);
			if (controllers?.split(',').includes('memory') && group) {
				found.unshift(`/sys/fs/cgroup/memory${group}/memory.oom_control`);
			}
		}
	} catch {
		// no cgroups
	}
	return found;
}
