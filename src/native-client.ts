/** The worker's end of the wire, as the addon offers it. A worker process needs nothing else of it. */
import {
	binding,
	FAILED,
	hotError,
	type NativeClientEnd,
	type NativeClientOptions,
	type NativeClientStatus,
	type NativeErrorReport,
	type NativeWelcome,
	shared,
	unwrap,
} from './native.js';

/** {@link clientTake}: no block is in hand now. */
export const NO_BLOCK = -1;
/** {@link clientTake}: there are no more, the driver sent the worker home or the client was closed. */
export const NO_MORE_BLOCKS = -3;
/** {@link clientTake}: there are no more, the driver is gone. */
export const DRIVER_GONE = -4;

/** Who waits for a client on this thread. */
interface Waiter {
	/** The client said that there may be something, and nobody has looked since. */
	woken: boolean;
	wake: (() => void) | null;
}

const waiters = new Map<number, Waiter>();

/** Longest delay of a timer; used to keep the process alive while somebody waits. */
const LONG_MS = 2 ** 31 - 1;

/**
 * A client for the text of a context. It doesn't connect yet.
 *
 * @throws ValidationError for a text that is no context, ConnectionError when the secret can't be read
 */
export function clientNew(options: NativeClientOptions): number {
	const waiter: Waiter = { woken: false, wake: null };
	const onWake = () => {
		waiter.woken = true;
		waiter.wake?.();
	};
	const handle = unwrap(binding.clientNew(options, onWake));
	waiters.set(handle, waiter);
	return handle;
}

/**
 * Connects (once) and gives the task to work for; `null` when the driver is gone.
 *
 * @throws ConnectionError when the driver turned this worker away
 */
export async function clientConnect(handle: number): Promise<NativeWelcome | null> {
	unwrap(binding.clientConnect(handle));
	for (;;) {
		const welcome = unwrap(binding.clientWelcome(handle));
		if (welcome !== null || clientEnd(handle) !== null) return welcome;
		await clientWait(handle);
	}
}

/**
 * Resolves when {@link clientTake} may give something other than {@link NO_BLOCK}; may come for
 * nothing. The process stays alive meanwhile. One at a time.
 */
export function clientWait(handle: number): Promise<void> {
	const waiter = waiters.get(handle);
	if (waiter === undefined || waiter.woken) {
		if (waiter !== undefined) waiter.woken = false;
		return Promise.resolve();
	}
	return new Promise((resolve) => {
		const keepAlive = setInterval(() => {}, LONG_MS);
		waiter.wake = () => {
			clearInterval(keepAlive);
			waiter.woken = false;
			waiter.wake = null;
			resolve();
		};
	});
}

/** The index of the next block, which runs from now on; or one of the negative constants above. */
export function clientTake(handle: number): number {
	shared[0] = handle;
	return taken(binding.clientTake(), handle);
}

/** As {@link clientTake}, but blocks this thread for up to `maxWaitMs`. */
export function clientTakeWait(handle: number, maxWaitMs: number): number {
	shared[0] = handle;
	shared[1] = maxWaitMs;
	return taken(binding.clientTakeWait(), handle);
}

function taken(block: number, handle: number): number {
	if (block >= 0) return block;
	if (block === FAILED) throw hotError();
	// The client calls again for what comes from now on.
	const waiter = waiters.get(handle);
	if (waiter !== undefined && block === NO_BLOCK) waiter.woken = false;
	return block;
}

/** A block that {@link clientTake} gave succeeded. */
export function clientFinish(handle: number, block: number): void {
	shared[0] = handle;
	shared[1] = block;
	if (binding.clientFinish() === FAILED) throw hotError();
}

/** A block that {@link clientTake} gave failed. */
export function clientFail(handle: number, block: number, error: NativeErrorReport): void {
	unwrap(binding.clientFail(handle, block, error));
}

/** A block that {@link clientTake} gave goes back as if it had never been started. */
export function clientGiveBack(handle: number, block: number): void {
	unwrap(binding.clientGiveBack(handle, block));
}

/** The worker can't work at all. With `fatal` no other one could, and the run ends with this error. */
export function clientUnusable(handle: number, fatal: boolean, error: NativeErrorReport): void {
	unwrap(binding.clientUnusable(handle, fatal, error));
}

/** The process is about to end with `code` of its own accord: tells the driver what runs now. */
export function clientExiting(handle: number, code: number): void {
	unwrap(binding.clientExiting(handle, code));
}

/** Blocks this thread until all is on the wire; false when it isn't after `timeoutMs`. */
export function clientFlush(handle: number, timeoutMs: number): boolean {
	return unwrap(binding.clientFlush(handle, timeoutMs));
}

/** A narrowed measurement of a running block begins. */
export function clientProfileStart(handle: number, block: number): void {
	unwrap(binding.clientProfileStart(handle, block));
}

/** A narrowed measurement ends; the first to end, the innermost, counts. */
export function clientProfileEnd(handle: number, block: number): void {
	unwrap(binding.clientProfileEnd(handle, block));
}

/** How the work ended, or is going to; `null` while there may be more blocks. */
export function clientEnd(handle: number): NativeClientEnd | null {
	return unwrap(binding.clientEnd(handle));
}

/** Whether there is a driver, and how many blocks are here. */
export function clientStatus(handle: number): NativeClientStatus {
	return unwrap(binding.clientStatus(handle));
}

/** Gives back what wasn't started, says goodbye; resolves when the driver has heard it. */
export async function clientClose(handle: number): Promise<void> {
	forget(handle);
	await binding.clientClose(handle);
}

/** As {@link clientClose}, without waiting for the driver: for paths that end the process. */
export function clientCloseNow(handle: number): void {
	forget(handle);
	binding.clientCloseNow(handle);
}

function forget(handle: number): void {
	const waiter = waiters.get(handle);
	waiters.delete(handle);
	waiter?.wake?.();
}
