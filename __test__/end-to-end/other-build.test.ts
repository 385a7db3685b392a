import { readFileSync } from 'node:fs';
import {
	type AddressInfo,
	connect,
	createServer,
	type Server as Listener,
	type Socket,
} from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Launcher, LaunchSpec } from '../../src/launchers/launcher.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { Server } from '../../src/run/server.js';
import { line, Scratch } from './scratch.js';

/** Where a greeting's package version begins: behind the magic, the protocol's version, the schema and a length. */
const VERSION_AT = 8 + 2 + 8 + 1;

/** What passes, with the first digit of the greeting's version changed. */
function asOtherBuild(from: Socket, to: Socket): void {
	let passed = 0;
	from.on('data', (bytes: Buffer) => {
		const at = VERSION_AT - passed;
		if (at >= 0 && at < bytes.length) bytes[at] = '9'.charCodeAt(0);
		passed += bytes.length;
		to.write(bytes);
	});
	from.on('end', () => to.end());
	from.on('error', () => to.destroy());
}

/** A port behind which driver and worker take each other for another build. */
async function disguise(t: ExecutionContext, port: number): Promise<number> {
	const listener: Listener = createServer({ allowHalfOpen: true }, (worker) => {
		const driver = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
		asOtherBuild(worker, driver);
		asOtherBuild(driver, worker);
	});
	t.teardown(() => listener.close());
	await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
	return (listener.address() as AddressInfo).port;
}

test('a worker of another build is told so, says it in its log, and the run goes on with others', async (t) => {
	const scratch = new Scratch(t);
	const local = new LocalLauncher();
	const logs: string[] = [];
	const launcher: Launcher = {
		start: async (spec: LaunchSpec, signal) => {
			logs.push(spec.logs.err!);
			if (logs.length > 1) return local.start(spec, signal);
			const { port } = spec.context;
			const text = spec.env.BELLIS_CONTEXT!.replace(
				new RegExp(`port=${port}\\b`),
				`port=${await disguise(t, port)}`,
			);
			t.not(text, spec.env.BELLIS_CONTEXT!);
			return local.start({ ...spec, env: { ...spec.env, BELLIS_CONTEXT: text } }, signal);
		},
	};
	const notices: string[] = [];
	const task = line(scratch, 4, {}, { launcher, maxWorkers: 1 });
	const { line: state } = await new Server().runBlockwise(task, {
		...scratch.quiet,
		progress: {
			onEvent: (event) => {
				if (event.type === 'notice') notices.push(event.message);
			},
		},
	});
	t.like(state, { completed: 4, failed: 0, failedAttempts: 0 });
	t.deepEqual(scratch.callsOf(), { 0: 1, 1: 1, 2: 1, 3: 1 });
	const { version } = JSON.parse(
		readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
	) as { version: string };
	const disguised = `9${version.slice(1)}`;
	const said = readFileSync(logs[0]!, 'utf8');
	t.regex(said, /the driver is of another build/);
	t.true(said.includes(disguised) && said.includes(version), said);
	t.true(
		notices.some((text) => text.includes(`another build of bellis (${disguised} `)),
		`${notices}`,
	);
});
