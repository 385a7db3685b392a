import { createServer } from 'node:net';
import test from 'ava';
import { isBellisError } from '../../src/errors.js';
import {
	clientClose,
	clientCloseNow,
	clientConnect,
	clientEnd,
	clientNew,
	clientStatus,
	clientTake,
	clientTakeWait,
	DRIVER_GONE,
	NO_MORE_BLOCKS,
} from '../../src/native-client.js';

const secret = '0123456789abcdef'.repeat(4);

function context(port: number): string {
	return `hostname=127.0.0.1:port=${port}:secret=${secret}:task_id=t:worker_id=0:logdir=`;
}

/** A port on which nobody listens. */
function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = createServer().listen(0, '127.0.0.1', () => {
			const address = server.address();
			server.close(() => resolve(typeof address === 'object' ? address!.port : 0));
		});
	});
}

test('a text that is no context is refused and not shown', (t) => {
	const error = t.throws(() => clientNew({ context: `secret=${secret}`, exitWhenGone: false }));
	t.true(isBellisError(error, 'ERR_BELLIS_VALIDATION'));
	t.false(error?.message.includes(secret));
});

test('a client whose driver is gone connects to nothing and has no blocks', async (t) => {
	const handle = clientNew({ context: context(await freePort()), exitWhenGone: false });
	t.deepEqual(clientStatus(handle), { connected: false, inHand: 0 });
	t.is(await clientConnect(handle), null);
	t.is(await clientConnect(handle), null);
	t.is(clientTake(handle), DRIVER_GONE);
	t.is(clientTakeWait(handle, 10_000), DRIVER_GONE);
	const end = clientEnd(handle);
	t.is(end?.exitCode, 0);
	t.is(end?.sentHome, false);
	await clientClose(handle);
	t.throws(() => clientTake(handle), { code: 'ERR_BELLIS_NATIVE' });
});

test('a server that is no driver of bellis is not one to work for', async (t) => {
	const server = createServer((socket) => {
		socket.on('error', () => {});
		socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	const port = typeof address === 'object' ? address!.port : 0;
	const handle = clientNew({ context: context(port), exitWhenGone: false });
	await t.throwsAsync(clientConnect(handle), { code: 'ERR_BELLIS_CONNECTION' });
	t.true([NO_MORE_BLOCKS, DRIVER_GONE].includes(clientTake(handle)));
	clientCloseNow(handle);
	server.close();
});

test('a call before connecting says so', (t) => {
	const handle = clientNew({ context: context(1), exitWhenGone: false });
	const error = t.throws(() => clientTake(handle));
	t.true(error?.message.includes('clientConnect'));
	clientCloseNow(handle);
});
