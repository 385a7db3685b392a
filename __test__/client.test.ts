import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { Client } from '../src/client.js';
import { Context } from '../src/context.js';
import { currentSettings, setLogDir } from '../src/settings.js';

const SECRET = '11'.repeat(32);

function contextOf(port: number): Context {
	return Context.parse(
		`hostname=127.0.0.1:port=${port}:task_id=task:worker_id=0:logdir=:secret=${SECRET}`,
	);
}

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as { port: number };
	await new Promise((resolve) => server.close(resolve));
	return port;
}

test('a client without a context in the environment says which variable is missing', (t) => {
	t.throws(() => new Client(), { code: 'ERR_BELLIS_VALIDATION', message: /BELLIS_CONTEXT/ });
});

test.serial("a client takes over its run's log directory, and a later setting wins", async (t) => {
	const before = currentSettings().logDir;
	t.teardown(() => setLogDir(before));
	const context = `hostname=127.0.0.1:port=1:task_id=task:worker_id=0:logdir=/run/logs:secret=${SECRET}`;
	await using client = new Client(Context.parse(context));
	t.is(client.context.logDir, '/run/logs');
	t.is(currentSettings().logDir, '/run/logs');
	setLogDir('/elsewhere');
	t.is(currentSettings().logDir, '/elsewhere');
});

test.serial('a client whose driver is gone warns once and has no blocks', async (t) => {
	const warnings: Error[] = [];
	const onWarning = (warning: Error) => warnings.push(warning);
	process.on('warning', onWarning);
	t.teardown(() => process.removeListener('warning', onWarning));

	await using client = new Client(contextOf(await freePort()));
	t.false(client.connected);
	t.is(await client.acquireBlock(), null);
	t.false(
		await client.process(() => {
			t.fail('there is no block');
		}),
	);
	t.false(client.connected);
	await new Promise((resolve) => setImmediate(resolve));
	t.is(warnings.length, 1);
	t.regex(warnings[0]!.message, /^the driver at 127\.0\.0\.1:\d+ gives no more blocks: /);
});

test('a closed client has no blocks and can be closed again', async (t) => {
	const client = new Client(contextOf(await freePort()));
	await client.close();
	await client.close();
	t.is(await client.acquireBlock(), null);
});
