import { runInNewContext } from 'node:vm';

/** What Node adds to the language: names that every module and script can use. */
const NODE_GLOBALS =
	`AbortController AbortSignal Blob BroadcastChannel Buffer ByteLengthQueuingStrategy
	CloseEvent CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent DecompressionStream
	DOMException Event EventSource EventTarget File FormData Headers MessageChannel MessageEvent MessagePort
	Navigator Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver
	PerformanceObserverEntryList PerformanceResourceTiming ReadableByteStreamController ReadableStream
	ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController
	ReadableStreamDefaultReader Request Response Storage SubtleCrypto TextDecoder TextDecoderStream
	TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLPattern
	URLSearchParams WebAssembly WebSocket WritableStream WritableStreamDefaultController
	WritableStreamDefaultWriter atob btoa clearImmediate clearInterval clearTimeout console crypto fetch
	global localStorage navigator performance process queueMicrotask sessionStorage setImmediate setInterval
	setTimeout structuredClone`.split(/\s+/);

let names: ReadonlySet<string> | undefined;

/** Whether a name means the same in a worker as here: the language's own and Node's. */
export function isWorkerGlobal(name: string): boolean {
	// of a fresh context, because this process may have globals that a worker hasn't
	names ??= new Set([
		...(runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[]),
		...NODE_GLOBALS,
	]);
	return names.has(name);
}
