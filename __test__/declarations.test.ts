import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));

test('the declarations compile for a consumer that checks libraries too', async (t) => {
	const consumers = ['__test__/types/commonjs.test-d.cts', '__test__/types/task.test-d.ts'];
	const flags =
		'--ignoreConfig --noEmit --strict --module nodenext --target es2022 --types node --skipLibCheck false';
	const tsc = promisify(execFile)(
		process.execPath,
		['node_modules/typescript/bin/tsc', ...flags.split(' '), 'index.d.ts', ...consumers],
		{ cwd: root },
	);
	await t.notThrowsAsync(tsc.catch((error) => Promise.reject(new Error(error.stdout))));
});
