import { resolve } from 'node:path';
import test from 'ava';
import type { Command } from 'commander';
import { parseOptions } from '../../../examples/mutex-watershed/src/options.js';

function refuse(...args: string[]): string {
	let printed = '';
	const catchExit = (command: Command) =>
		command.exitOverride().configureOutput({ writeErr: (text) => (printed += text) });
	try {
		parseOptions(args, catchExit);
	} catch {
		return printed;
	}
	throw new Error(`accepted: ${args.join(' ')}`);
}

test('without arguments: block functions in worker processes', (t) => {
	t.deepEqual(parseOptions([]), {
		mode: 'block-function',
		multiprocessing: true,
		out: resolve('demo-output'),
	});
});

test('modes are taken with hyphens and with underscores', (t) => {
	for (const mode of ['block-function', 'worker-function'] as const) {
		t.is(parseOptions(['--mode', mode]).mode, mode);
		t.is(parseOptions(['--mode', mode.replace('-', '_')]).mode, mode);
	}
});

test('both forms of the multiprocessing flag are taken, and the last one counts', (t) => {
	t.true(parseOptions(['--multiprocessing']).multiprocessing);
	t.false(parseOptions(['--no-multiprocessing']).multiprocessing);
	t.true(parseOptions(['--no-multiprocessing', '--multiprocessing']).multiprocessing);
});

test('the output folder becomes an absolute path', (t) => {
	t.is(parseOptions(['--out', 'some/where']).out, resolve('some/where'));
});

test('worker functions without worker processes are refused, naming both options', (t) => {
	for (const mode of ['worker-function', 'worker_function']) {
		const message = refuse('--no-multiprocessing', '--mode', mode);
		t.regex(message, /--mode worker-function/);
		t.regex(message, /--no-multiprocessing/);
	}
});

test('unknown modes, options and arguments are refused by name', (t) => {
	t.regex(refuse('--mode', 'turbo'), /'turbo' is invalid.*block-function and worker-function/);
	t.regex(refuse('--workers', '4'), /--workers/);
	t.regex(refuse('stray'), /too many arguments/);
	t.regex(refuse('--out'), /--out/);
});
