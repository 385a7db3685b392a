import { constants } from 'node:os';

/** Signals that stop a run. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Is told of every stop signal, also of those that come twice. */
export type OnStopSignal = (signal: StopSignal) => void;

const watchers = new Set<OnStopSignal>();
const earlier = new Map<StopSignal, ((signal: NodeJS.Signals) => void)[]>();

/**
 * Tells `onSignal` of SIGINT, SIGTERM and SIGHUP until the function that it returns is called. All
 * runs of the process share one listener for each signal. Listeners that were there before are put
 * aside and come back with the end of the last run.
 */
export function watchStopSignals(onSignal: OnStopSignal): () => void {
	// the same function watched twice is two watches
	const watcher: OnStopSignal = (signal) => onSignal(signal);
	if (watchers.size === 0) takeOver();
	watchers.add(watcher);
	return () => {
		if (watchers.delete(watcher) && watchers.size === 0) giveBack();
	};
}

/** What a shell shows for a process that the signal ended: 130 for SIGINT, 143 for SIGTERM. */
export function exitCodeOf(signal: StopSignal): number {
	return 128 + constants.signals[signal];
}

function takeOver(): void {
	for (const signal of STOP_SIGNALS) {
		// raw ones, so that those for one time stay so
		earlier.set(signal, process.rawListeners(signal) as ((signal: NodeJS.Signals) => void)[]);
		process.removeAllListeners(signal);
		process.on(signal, tell);
	}
}

function giveBack(): void {
	for (const signal of STOP_SIGNALS) {
		process.removeListener(signal, tell);
		for (const listener of earlier.get(signal) ?? []) process.on(signal, listener);
	}
	earlier.clear();
}

function tell(signal: NodeJS.Signals): void {
	for (const watcher of [...watchers]) watcher(signal as StopSignal);
}
