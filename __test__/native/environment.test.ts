import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { storeStatus } from '../../src/native-tracking.js';
import { configFor } from './run-config.js';

const execute = promisify(execFile);
const binding = createRequire(import.meta.url).resolve('../../binding.cjs');

/** Runs a CommonJS program with `binding` and `config` in a process of its own, with its own folder for temporary files. */
async function run(program: string, config: unknown, tmp: string) {
	const text = `
		const binding = require(${JSON.stringify(binding)});
		const config = ${JSON.stringify(config)};
		${program}
	`;
	return execute(process.execPath, ['-e', text], { env: { ...process.env, TMPDIR: tmp } });
}

function folder(t: { teardown: (end: () => void) => void }): string {
	const made = mkdtempSync(join(tmpdir(), 'bellis-environment-'));
	t.teardown(() => rmSync(made, { recursive: true, force: true }));
	return made;
}

const source = (name: string) =>
	JSON.stringify(new URL(`../../src/${name}.ts`, import.meta.url).href);

for (const [kind, begin] of [
	['a run', `runStart(config, ({ kind }) => { if (kind === 'startWorker') leave(); })`],
	['a serial run', 'serialStart(config).then((run) => { serialTake(run, 0); leave(); })'],
] as const) {
	test(`a process that exits in the middle of ${kind} leaves no lock and no secret`, async (t) => {
		const tmp = folder(t);
		const trackingPath = join(tmp, 'store');
		const program = `
			import { runStart, serialStart, serialTake } from ${source('native-run')};
			const config = ${JSON.stringify(configFor({}, { trackingPath, config: null }))};
			const leave = () => { console.log('begun'); process.exit(7); };
			${begin};
		`;
		const args = ['--import=tsx', '--input-type=module', '-e', program];
		const ended = execute(process.execPath, args, { env: { ...process.env, TMPDIR: tmp } });
		const error = await t.throwsAsync(() => ended);
		t.like(error, { code: 7, stdout: 'begun\n', stderr: '' });
		t.deepEqual(
			readdirSync(tmp).filter((name) => !name.startsWith('tsx')),
			['store'],
		);
		t.false(readdirSync(trackingPath).some((name) => name.includes('lock')));
		t.is((await storeStatus(trackingPath, null))?.heldBy, null);
	});
}

test('a run keeps its process alive until it has finished, and not longer', async (t) => {
	const program = `
		const { promise, resolve } = (() => {
			let resolve;
			return { promise: new Promise((r) => { resolve = r }), resolve };
		})();
		const started = binding.runStart(config, (event) => {
			console.log(event.kind);
			if (event.kind === 'startWorker') resolve(event.worker);
		});
		Promise.all([promise, started]).then(([worker, { ok }]) => {
			// Nothing but the run keeps the process alive meanwhile.
			setTimeout(() => {
				const error = { name: 'Error', message: 'no', stack: null, details: null };
				binding.runStartFailed(ok.handle, worker, error);
				binding.runAbort(ok.handle);
			}, 100).unref();
		});
	`;
	const { stdout, stderr } = await run(program, configFor({}, { config: null }), folder(t));
	t.true(stdout.endsWith('finished\n'), stdout);
	t.is(stderr, '');
});

test('a thread that is ended in the middle of a run takes the run with it', async (t) => {
	const tmp = folder(t);
	const trackingPath = join(tmp, 'store');
	const program = `
		const { Worker } = require('node:worker_threads');
		const inside = \`
			const { workerData, parentPort } = require('node:worker_threads');
			const binding = require(workerData.binding);
			binding.runStart(workerData.config, ({ kind }) => parentPort.postMessage(kind));
		\`;
		const workerData = { binding: ${JSON.stringify(binding)}, config };
		const worker = new Worker(inside, { eval: true, workerData });
		worker.once('message', async (kind) => {
			await worker.terminate();
			const status = await binding.storeStatus(config.tasks[0].trackingPath, null);
			console.log(kind, status.ok.heldBy);
		});
	`;
	const { stdout, stderr } = await run(program, configFor({}, { trackingPath, config: null }), tmp);
	t.is(stdout, 'startWorker null\n');
	t.is(stderr, '');
	t.deepEqual(readdirSync(tmp), ['store']);
});
