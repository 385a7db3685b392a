import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { ValidationError } from '../../src/errors.js';
import { makeFolder } from '../../src/launchers/make-folder.js';
import { checkLogPlace } from '../../src/run/log-place.js';
import { readRunOptions } from '../../src/run/options.js';

function place(t: { teardown(fn: () => void): void }): string {
	const folder = mkdtempSync(join(tmpdir(), 'bellis-log-place-'));
	t.teardown(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

const check = (logDir: string | null, more = {}) =>
	checkLogPlace(readRunOptions({ logDir, ...more }));

test('a log directory below a file is refused by name, and nothing is made', (t) => {
	const folder = place(t);
	const file = join(folder, 'file');
	writeFileSync(file, '');
	for (const path of [file, join(file, 'logs'), join(file, 'a', 'b')]) {
		const error = t.throws(() => check(path)) as ValidationError;
		t.is(error.code, 'ERR_BELLIS_VALIDATION');
		t.is(error.path, 'logDir');
		t.regex(error.message, /is no directory\. Pass another logDir/);
	}
	t.notThrows(() => check(join(folder, 'new', 'logs')));
	t.false(existsSync(join(folder, 'new')));
});

test('no log files, no complaint', (t) => {
	const file = join(place(t), 'file');
	writeFileSync(file, '');
	t.notThrows(() => check(null));
	t.notThrows(() => check(file, { logMode: 'console' }));
	t.notThrows(() => check(file, { multiprocessing: false }));
});

test('a directory without permission to write is refused', (t) => {
	if (process.getuid?.() === 0 || process.platform === 'win32') {
		t.log('not checked: permissions hold nobody back here (root, or Windows)');
		t.pass();
		return;
	}
	const folder = place(t);
	chmodSync(folder, 0o500);
	t.throws(() => check(join(folder, 'logs')), { message: /is not writable/ });
	chmodSync(folder, 0o700);
});

test('folders are made step by step, also where they are there already', (t) => {
	const folder = join(place(t), 'a', 'b', 'c');
	makeFolder(folder);
	makeFolder(folder);
	t.true(existsSync(folder));
	if (process.platform === 'linux')
		t.throws(() => makeFolder('/proc/bellis/logs'), { code: 'ENOENT' });
});
