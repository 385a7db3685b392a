import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Pipeline, Task } from '../index.js';
import { type PipelinePart, readPipeline } from '../pipeline.js';
import { shellWord } from '../progress/notices.js';
import { showValue } from '../show-value.js';
import { UsageError } from './usage-error.js';

type Exports = Readonly<Record<string, unknown>>;

/**
 * The pipeline that a file exports: a task, a pipeline or an array of both, or a promise of one.
 *
 * @param exportName the export to take; without it the default export, else the only one there is
 * @throws UsageError in one line for whatever is wrong with the file
 */
export async function loadPipeline(file: string, exportName?: string): Promise<Pipeline> {
	const path = resolve(file);
	if (file === '') throw new UsageError('FILE must be a path, not an empty text');
	if (!existsSync(path)) throw new UsageError(`there is no file ${file}`);
	if (statSync(path).isDirectory()) throw new UsageError(`${file} is a directory, not a file`);
	const exports = await importFile(file, path);
	const { name, value } = await chosenExport(file, exports, exportName);
	if (!isPart(value)) throw notAPipeline(file, path, name, value);
	return readPipeline(value, name);
}

async function importFile(file: string, path: string): Promise<Exports> {
	try {
		return await import(pathToFileURL(path).href);
	} catch (error) {
		throw importFailure(file, path, error);
	}
}

async function chosenExport(
	file: string,
	exports: Exports,
	wanted: string | undefined,
): Promise<{ name: string; value: unknown }> {
	const names = Object.keys(exports).filter((name) => name !== 'module.exports');
	if (wanted !== undefined) {
		if (Object.hasOwn(exports, wanted)) return { name: wanted, value: await exports[wanted] };
		throw new UsageError(`${file} has no export ${JSON.stringify(wanted)}${exportsText(names)}`);
	}
	const values = await Promise.all(
		names.map(async (name) => ({ name, value: await exports[name] })),
	);
	const byDefault = values.find(({ name }) => name === 'default');
	// The default export of a CommonJS module is the object that holds the others.
	if (byDefault && (isPart(byDefault.value) || names.length === 1)) return byDefault;
	const usable = values.filter(({ value }) => isPart(value));
	const [only] = usable;
	if (!only) {
		throw new UsageError(`${file} exports no Task, Pipeline or array of them${exportsText(names)}`);
	}
	if (usable.length === 1) return only;
	const choice = usable.map(({ name }) => name).join(', ');
	throw new UsageError(`${file} has several exports to run: choose with --export one of ${choice}`);
}

const exportsText = (names: readonly string[]) =>
	names.length > 0 ? `; it exports ${names.join(', ')}` : '; it has no exports';

function isPart(value: unknown): value is PipelinePart | PipelinePart[] {
	if (value instanceof Task || value instanceof Pipeline) return true;
	return Array.isArray(value) && value.length > 0 && value.every((one) => isPart(one));
}

function notAPipeline(file: string, path: string, name: string, value: unknown): UsageError {
	const tasks = (value as { tasks?: unknown } | null)?.tasks;
	const [first] = Array.isArray(tasks) ? tasks : Array.isArray(value) ? value : [value];
	const branded = typeof first === 'object' && first !== null && Symbol.for('bellis.task') in first;
	if (branded && isCommonJsTypeScript(path)) {
		return new UsageError(`${file} got a copy of bellis of its own: ${asEsModule}`);
	}
	if (branded) {
		return new UsageError(
			`${file} uses another copy of bellis than this command: run the one installed beside it with npx bellis`,
		);
	}
	const what = typeof value === 'function' ? 'a function' : showValue(value);
	return new UsageError(
		`the export ${JSON.stringify(name)} of ${file} must be a Task, a Pipeline or an array of them, not ${what}`,
	);
}

function importFailure(file: string, path: string, error: unknown): UsageError {
	const { code } = (error ?? {}) as { code?: unknown };
	const isTypeScript = /\.[cm]?tsx?$/.test(path);
	const unknown = code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?\b/.test(`${error}`);
	if (unknown || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
		const command = ['node', '--import', 'tsx', ...process.argv.slice(1)].map(shellWord).join(' ');
		const more = isCommonJsTypeScript(path) ? `; ${asEsModule}` : '';
		return new UsageError(
			`${file} ${isTypeScript ? 'is' : 'imports'} TypeScript that Node ${process.version} can't load by itself: install tsx and run ${command}${more}`,
		);
	}
	if (error instanceof SyntaxError) {
		const place = syntaxErrorPlace(path, error);
		return new UsageError(`${place ?? file}: ${error.name}: ${error.message}`);
	}
	const thrown = error instanceof Error ? `${error.name}: ${error.message}` : showValue(error);
	const place = thrownPlace(error);
	return new UsageError(`${file} can't be loaded: ${thrown}${place ? ` (at ${place})` : ''}`);
}

/** What to do about a loader that turns CommonJS into a program with its own copy of each ES module. */
const asEsModule =
	'make it an ES module, by the ending .mts or by "type": "module" in its package.json';

/** Whether a loader of TypeScript takes a file for CommonJS. */
function isCommonJsTypeScript(path: string): boolean {
	if (/\.ctsx?$/.test(path)) return true;
	return /\.tsx?$/.test(path) && !inEsPackage(dirname(path));
}

/** Whether the nearest `package.json` says that its files are ES modules. */
function inEsPackage(folder: string): boolean {
	const manifest = join(folder, 'package.json');
	if (!existsSync(manifest)) return dirname(folder) !== folder && inEsPackage(dirname(folder));
	try {
		return JSON.parse(readFileSync(manifest, 'utf8')).type === 'module';
	} catch {
		return false;
	}
}

/** File and line of a syntax error, which the error itself keeps from programs. */
function syntaxErrorPlace(path: string, error: SyntaxError): string | null {
	const own = /^(\S.*:\d+)$/m.exec(error.stack?.split('\n', 1)[0] ?? '');
	if (own) return readable(own[1]!);
	const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
	const checked = /^(\S.*:\d+)$/m.exec(stderr ?? '');
	return checked ? readable(checked[1]!) : null;
}

/** Where the user's code was when it threw: the first frame in a file that isn't ours. */
function thrownPlace(error: unknown): string | null {
	const own = new URL('..', import.meta.url).href;
	for (const line of (error instanceof Error ? error.stack : '')?.split('\n') ?? []) {
		const frame = /(?:\(|at (?:async )?)((?:file:\/\/)?\/[^()]*:\d+):\d+\)?$/.exec(line);
		if (frame && !frame[1]!.startsWith(own)) return readable(frame[1]!);
	}
	return null;
}

function readable(place: string): string {
	if (!place.startsWith('file:')) return place;
	const [, url = '', line = ''] = /^(.*)(:\d+)$/.exec(place) ?? [];
	return `${fileURLToPath(url)}${line}`;
}
