import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import test from 'ava';

const binding = createRequire(import.meta.url).resolve('../../binding.cjs');

// Panics print to stderr and must leave the process alive, so a process of its own makes them.
const program = `
const binding = require(${JSON.stringify(binding)});
const messages = [];
for (const place of ['sync', 'hot', 'thread']) {
	const { ok, error } = binding.debugPanic(place);
	messages.push((ok === -2 ? binding.takeError() : error));
}
binding.debugPanicAsync().then(
	() => messages.push('resolved'),
	(error) => messages.push({ code: 'rejected', message: error.message }),
).then(() => {
	messages.push({ code: 'later call', message: binding.nativeVersion() });
	console.log(JSON.stringify(messages));
});
`;

interface Seen {
	code: string;
	message: string;
}

async function run(env: NodeJS.ProcessEnv): Promise<{ seen: Seen[]; stderr: string }> {
	const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program], { env });
	return { seen: JSON.parse(stdout), stderr };
}

/** Title of the difficulty that these tests are about. */
const PANIC = 'A Rust panic hangs the promise or aborts Node';

test(`${PANIC}: a panic in a call, a hot call, a thread or the thread pool is an error and the process lives`, async (t) => {
	const { seen } = await run({ ...process.env, BELLIS_DEBUG_PANICS: '1' });
	t.deepEqual(
		seen.map(({ code }) => code),
		['ERR_BELLIS_NATIVE', 'ERR_BELLIS_NATIVE', 'ERR_BELLIS_NATIVE', 'rejected', 'later call'],
	);
	const places = ['a call', 'a hot call', 'a thread', 'the thread pool'];
	for (const [index, place] of places.entries()) {
		t.true(seen[index]?.message.includes(`on purpose, in ${place}`), seen[index]?.message);
	}
});

test('the entry points that panic refuse to without their switch', async (t) => {
	const { BELLIS_DEBUG_PANICS: _, ...env } = process.env;
	const { seen, stderr } = await run(env);
	for (const { message } of seen.slice(0, 4)) t.true(message.includes('BELLIS_DEBUG_PANICS'));
	t.false(stderr.includes('panicked'));
});
