import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Client } from '../../src/client.js';
import { Context } from '../../src/context.js';
import type { Launcher, LaunchSpec } from '../../src/launchers/launcher.js';
import { LocalLauncher } from '../../src/launchers/local.js';
import { runBlockwise } from '../../src/run/run-blockwise.js';
import { fixture, line, Scratch } from './scratch.js';

/** Starts workers here, and shows what they were started with. */
class Watching implements Launcher {
	readonly specs: LaunchSpec[] = [];
	readonly #local = new LocalLauncher();
	readonly #onStart: (spec: LaunchSpec) => Promise<void> | void;

	constructor(onStart: (spec: LaunchSpec) => Promise<void> | void = () => {}) {
		this.#onStart = onStart;
	}

	async start(spec: LaunchSpec, signal: AbortSignal) {
		this.specs.push(spec);
		await this.#onStart(spec);
		return this.#local.start(spec, signal);
	}
}

const secretOf = (spec: LaunchSpec) => /secret=([0-9a-f]{64})/.exec(spec.env.BELLIS_CONTEXT!)![1]!;

/** All that stands in the files below a folder. */
function textsBelow(folder: string): string {
	return readdirSync(folder, { recursive: true, encoding: 'utf8' })
		.map((name) => join(folder, name))
		.filter((path) => statSync(path).isFile())
		.map((path) => readFileSync(path, 'latin1'))
		.join('\n');
}

/** What comes from the other side until it hangs up. */
async function answerTo(socket: Socket, bytes: Buffer | string): Promise<Buffer> {
	const parts: Buffer[] = [];
	socket.on('data', (part) => parts.push(part as Buffer));
	// being reset is an end, too
	socket.on('error', () => {});
	socket.write(bytes);
	await new Promise((resolve) => socket.once('close', resolve));
	return Buffer.concat(parts);
}

test('the secret of a run is in no log, error, command line, report or child of a worker', async (t) => {
	const scratch = new Scratch(t);
	const watching = new Watching();
	const task = line(
		scratch,
		6,
		{},
		{
			processFunction: { module: fixture('secrets.js'), export: 'look' },
			config: { calls: scratch.calls },
			launcher: watching,
			maxRetries: 0,
			onBlockError: 'keep-worker',
			trackingPath: scratch.path('store'),
		},
	);
	const events: unknown[] = [];
	const printed: string[] = [];
	const states = await runBlockwise(task, {
		...scratch.quiet,
		progress: { onEvent: (event) => events.push(event) },
		returnStates: true,
	});
	t.is(states.line!.completed, 5);
	t.is(states.line!.failed, 1);
	const secret = secretOf(watching.specs[0]!);
	const report = await task.report();
	printed.push(
		JSON.stringify(events),
		JSON.stringify(states),
		JSON.stringify(report),
		textsBelow(scratch.dir),
	);
	const digest = createHash('sha256').update(secret).digest('hex');
	for (const text of printed) t.false(text.includes(secret) || text.includes(digest));
	// the blocks saw their process: its command line, its title, a child's environment
	const seen = scratch.lines().map((text) => JSON.parse(text) as Record<string, string>);
	t.is(seen.length, 6);
	for (const { argv, title, child } of seen) {
		t.false(`${argv}${title}${child}`.includes(secret));
	}
	for (const { args } of watching.specs) t.false(args.join(' ').includes(secret));
});

test('Foreign bytes: a run listens on the loopback address alone, and turns strangers away without a word', async (t) => {
	const scratch = new Scratch(t);
	const answers: string[] = [];
	let outside = 'nobody';
	const watching = new Watching(async ({ context }) => {
		if (answers.length > 0) return;
		const { port } = context;
		const to = () => connect(port, '127.0.0.1');
		answers.push((await answerTo(to(), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toString('latin1'));
		answers.push((await answerTo(to(), Buffer.alloc(100_000, 0xff))).toString('latin1'));
		const other = Object.values(networkInterfaces())
			.flat()
			.find((one) => one && !one.internal && one.family === 'IPv4')?.address;
		if (other === undefined) return;
		const socket = connect(port, other);
		outside = await Promise.race([
			once(socket, 'connect').then(() => 'somebody'),
			once(socket, 'error').then(() => 'nobody'),
		]).catch(() => 'nobody');
		socket.destroy();
	});
	const notices: { code?: string; message: string }[] = [];
	const task = line(scratch, 4, {}, { launcher: watching, maxWorkers: 1 });
	const onEvent = (event: { type: string }) => {
		if (event.type === 'notice') notices.push(event as never);
	};
	t.true(await runBlockwise(task, { ...scratch.quiet, progress: { onEvent } }));
	t.deepEqual(answers, ['', '']);
	t.is(outside, 'nobody');
	t.is(notices.length, 1);
	t.regex(notices[0]!.message, /127\.0\.0\.1/);
});

test('a worker of another run is told so and gets nothing', async (t) => {
	const scratch = new Scratch(t);
	let told: unknown;
	const watching = new Watching(async (spec) => {
		const wrong = spec.env.BELLIS_CONTEXT!.replace(secretOf(spec), '0'.repeat(64));
		const client = new Client(Context.parse(wrong));
		told ??= await client.acquireBlock().catch((error) => error);
		await client.close();
	});
	t.true(await runBlockwise(line(scratch, 4, {}, { launcher: watching }), scratch.quiet));
	t.like(told, { code: 'ERR_BELLIS_CONNECTION' });
	t.regex((told as Error).message, /another run/);
	t.is(scratch.lines().length, 4);
});

test('a context for another machine that names a loopback address is refused', async (t) => {
	const scratch = new Scratch(t);
	let told: unknown;
	const watching = new Watching(async (spec) => {
		const text = spec.env.BELLIS_CONTEXT!.replace(/machine=[^:]*/, 'machine=elsewhere');
		const client = new Client(Context.parse(text));
		told ??= await client.acquireBlock().catch((error) => error);
		await client.close();
	});
	t.true(await runBlockwise(line(scratch, 2, {}, { launcher: watching }), scratch.quiet));
	t.like(told, { code: 'ERR_BELLIS_CONNECTION' });
	t.regex((told as Error).message, /host: 'auto'/);
});

test.serial('the address comes from the option, else from BELLIS_HOST', async (t) => {
	const hostOf = async (options: object) => {
		const scratch = new Scratch(t);
		const watching = new Watching();
		const task = line(scratch, 1, {}, { launcher: watching });
		t.true(await runBlockwise(task, { ...scratch.quiet, ...options }));
		return watching.specs[0]!.context.hostname;
	};
	t.is(await hostOf({}), '127.0.0.1');
	process.env.BELLIS_HOST = 'localhost';
	t.teardown(() => {
		delete process.env.BELLIS_HOST;
	});
	t.is(await hostOf({}), 'localhost');
	t.is(await hostOf({ host: '127.0.0.1' }), '127.0.0.1');
	t.not(await hostOf({ host: 'auto' }), '0.0.0.0');
});
