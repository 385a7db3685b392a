import { filePath, oneOf } from './option-checks.js';

/** Where workers' output goes. */
export type LogMode = 'file' | 'console' | 'both' | 'none';

/** Checks a log mode. */
export const logMode = oneOf('file', 'console', 'both', 'none');

/** @internal What holds for the whole process unless a run or a call says otherwise. */
export interface Settings {
	/** Parent directory of tracking stores; null: only tasks with a path of their own have one. */
	trackingDir: string | null;
	/** Parent directory of log directories; null: no log files. */
	logDir: string | null;
	logMode: LogMode;
}

const settings: Settings = { trackingDir: null, logDir: './bellis_logs', logMode: 'file' };

/**
 * Sets the directory below which each task keeps its tracking store, in `<path>/<taskId>`. There is
 * none by default, and then only tasks with a `trackingPath` have a store; null takes it away.
 */
export function setTrackingDir(path: string | URL | null): void {
	settings.trackingDir = path === null ? null : filePath(path, 'trackingDir');
}

/** Sets the directory for worker logs, `./bellis_logs` by default; null writes no log files. */
export function setLogDir(path: string | URL | null): void {
	settings.logDir = path === null ? null : filePath(path, 'logDir');
}

/** Sets where workers' output goes, `'file'` by default; without a log directory it's the console. */
export function setLogMode(mode: LogMode): void {
	settings.logMode = logMode(mode, 'logMode');
}

/** @internal */
export function currentSettings(): Readonly<Settings> {
	return { ...settings };
}
