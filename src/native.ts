/**
 * The only importer of the addon. It loads the binary for this machine, and turns the envelopes and
 * sentinels of its calls into results and errors.
 *
 * Hot calls pass numbers through {@link shared} instead of arguments, which is several times faster.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Binding from '../binding.cjs';
import { type BellisError, bellisErrorOf, NativeBindingError } from './errors.js';

export type * from '../binding.cjs';

/** The addon's functions as generated. Everything but `native*.ts` goes through the wrappers there. */
export const binding: typeof Binding = load();

/** Numbers shared with the addon on this thread: 16 arguments and results, then {@link BATCH} entries. */
export const shared: Float64Array = binding.sharedBuffer();

/** Where the entries of a batch begin in {@link shared}. */
export const ARGUMENTS = 16;
/** How many entries a batch may have. */
export const BATCH: number = shared.length - ARGUMENTS;
/** What a hot call gives when it failed. */
export const FAILED = -2;

/** What a call that isn't hot gives. */
export type Envelope<T> = { ok: T } | { error: Binding.NativeError };

/** The result inside an envelope; throws the error inside it. */
export function unwrap<T>(envelope: Envelope<T>): T {
	if ('error' in envelope) throw errorOf(envelope.error);
	return envelope.ok;
}

/** The error class for an error as the addon describes it. */
export function errorOf({ code, message, details, ...rest }: Binding.NativeError): BellisError {
	return bellisErrorOf(code, message, { ...rest, ...details });
}

/** The error of the hot call that just gave {@link FAILED}. */
export function hotError(): BellisError {
	const error = binding.takeError();
	if (error === null) return new NativeBindingError('a native call failed without saying why');
	return errorOf(error);
}

function load(): typeof Binding {
	const require = createRequire(import.meta.url);
	let loaded: typeof Binding;
	try {
		loaded = require('../binding.cjs');
	} catch (cause) {
		throw new NativeBindingError(missingBinary(cause), { cause });
	}
	const { version } = require('../package.json') as { version: string };
	const found = loaded.nativeVersion();
	if (found !== version) {
		throw new NativeBindingError(
			`bellis ${version} found a native binary of version ${found}. Install both anew: remove node_modules and run 'npm install'.`,
		);
	}
	return loaded;
}

/** What to tell when no binary could be loaded. */
function missingBinary(cause: unknown): string {
	const { platform, arch } = process;
	const libc = platform === 'linux' ? libcName() : null;
	const machine = `${platform} on ${arch}${libc === null ? '' : ` with ${libc}`}`;
	const lines = [
		`bellis has no native binary that works here (${machine}).`,
		`It comes with the optional package 'bellis-${platform}-${arch}${abi(libc)}': run 'npm install' without --omit=optional`,
		'on the machine (or in the container) that will run it, instead of copying node_modules from another kind of machine.',
		"In a checkout of bellis itself, run 'npm run build:native', which needs Rust.",
	];
	const found = loadFailure(cause);
	if (found !== undefined) lines.push(`A binary was found and can't be loaded: ${found}`);
	return lines.join('\n');
}

function abi(libc: 'glibc' | 'musl' | null): string {
	if (libc === null) return process.platform === 'win32' ? '-msvc' : '';
	return libc === 'musl' ? '-musl' : '-gnu';
}

/** The libc of this Node, without starting a process. */
function libcName(): 'glibc' | 'musl' {
	const libraries = '/lib';
	const isMusl =
		existsSync(libraries) && readdirSync(libraries).some((name) => name.startsWith('ld-musl-'));
	const report = process.report?.getReport() as
		| { header?: { glibcVersionRuntime?: string } }
		| undefined;
	return report?.header?.glibcVersionRuntime === undefined && isMusl ? 'musl' : 'glibc';
}

/** The first of a chain of load errors that isn't about a file that doesn't exist. */
function loadFailure(cause: unknown): string | undefined {
	for (let error = cause; error instanceof Error; error = error.cause) {
		if (!/cannot find/i.test(error.message)) return error.message.split('\n')[0];
	}
	return undefined;
}
