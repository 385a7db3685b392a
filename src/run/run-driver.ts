import type { NativeErrorReport, NativeRunResult, NativeRunSnapshot } from '../native.js';

/** What carries out a run: with worker processes, or in this one. */
export interface RunDriver {
	/** Settles with the run's end, also where it was an early one. */
	readonly finished: Promise<NativeRunResult>;
	/** What a block of a serial run threw; null for other ends. */
	readonly failure: { readonly error: unknown } | null;
	/** The last thing that a worker failed of without a block in hand; null for nothing. */
	readonly workerError: NativeErrorReport | null;
	/** Where workers from elsewhere find the run, `host:port`; null before the start, and without workers. */
	readonly address: string | null;
	/** Opens the stores and begins; when it rejects, nothing was started. */
	start(): Promise<void>;
	snapshot(): NativeRunSnapshot | null;
	/** Asks for an end in order. */
	interrupt(reason: string): void;
	/** Ends it at once. */
	kill(): void;
}
