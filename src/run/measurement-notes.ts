import type { NativeResourceReport } from '../native.js';

/** Which measurements of a task are missing, and why. */
export function measurementNotes(
	concurrency: number,
	{ peakRss, cpu }: Pick<NativeResourceReport, 'peakRss' | 'cpu'>,
): string[] {
	if (concurrency > 1) return ['cpu, memory and I/O: several blocks ran at once'];
	// a process without memory doesn't exist, so that 0 means unknown
	if (peakRss.count === 0 || peakRss.total > 0) return [];
	const missing = Number.isNaN(cpu.mean) ? 'cpu, memory and I/O' : 'memory and I/O';
	return [`${missing}: not measured on this platform`];
}
