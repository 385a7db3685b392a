import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));

for (const [consumer, settings] of [
	['', '--types node'],
	[' and names no library and no types', ''],
] as const) {
	test(
		`the declarations compile for a consumer that checks libraries too${consumer}`,
		compiles,
		settings,
	);
}

async function compiles(t: ExecutionContext, settings: string): Promise<void> {
	const consumers = ['__test__/types/commonjs.test-d.cts', '__test__/types/task.test-d.ts'];
	const flags = `--ignoreConfig --noEmit --strict --module nodenext --target es2022 --skipLibCheck false ${settings}`;
	const tsc = promisify(execFile)(
		process.execPath,
		['node_modules/typescript/bin/tsc', ...flags.trim().split(' '), 'index.d.ts', ...consumers],
		{ cwd: root },
	);
	await t.notThrowsAsync(tsc.catch((error) => Promise.reject(new Error(error.stdout))));
}
