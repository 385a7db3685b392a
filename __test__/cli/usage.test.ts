import test from 'ava';
import { CliScratch, golden, pipelines } from './run-cli.ts';

const commands = ['run', 'plan', 'status', 'report', 'failures', 'reset'];

test('help shows the commands, examples and exit codes', async (t) => {
	const scratch = new CliScratch(t);
	const { code, stdout, stderr } = await scratch.run('--help');
	t.is(stderr, '');
	t.is(stdout, golden('help'));
	t.is(code, 0);
});

for (const command of commands) {
	test(`help of ${command}`, async (t) => {
		const scratch = new CliScratch(t);
		const { code, stdout } = await scratch.run(command, '--help');
		t.is(stdout, golden(`help-${command}`));
		t.is(code, 0);
		const asked = await scratch.run('help', command);
		t.is(asked.stdout, stdout);
		t.is(asked.code, 0);
		t.true(stdout.split('\n').every((line) => line.length <= 120));
	});
}

test('without a command it shows help and fails', async (t) => {
	const { code, stdout, stderr } = await new CliScratch(t).run();
	t.is(stdout, '');
	t.is(stderr, golden('help'));
	t.is(code, 2);
});

test('help by name is the help of a command', async (t) => {
	const { code, stdout, stderr } = await new CliScratch(t).run('help', 'status');
	t.is(stdout, golden('help-status'));
	t.is(stderr, '');
	t.is(code, 0);
});

test('the version', async (t) => {
	const { code, stdout } = await new CliScratch(t).run('--version');
	t.regex(stdout, /^\d+\.\d+\.\d+\n$/);
	t.is(code, 0);
});

const mistakes: [name: string, args: string[], stderr: string][] = [
	['a mistyped command', ['rnu'], "error: unknown command 'rnu'\n(Did you mean run?)\n"],
	[
		'a mistyped command to be helped with',
		['help', 'staus'],
		"error: unknown command 'staus'\n(Did you mean status?)\n",
	],
	['an empty file argument', ['run', ''], 'error: FILE must be a path, not an empty text\n'],
	[
		'a mistyped option',
		['plan', pipelines, '--jsno'],
		"error: unknown option '--jsno'\n(Did you mean --json?)\n",
	],
	[
		'another mistyped option',
		['run', pipelines, '--worker', '3'],
		"error: unknown option '--worker'\n(Did you mean --workers?)\n",
	],
	['a missing file argument', ['run'], "error: missing required argument 'file'\n"],
	[
		'two files',
		['run', 'a.js', 'b.js'],
		"error: too many arguments for 'run'. Expected 1 argument but got 2.\n",
	],
	[
		'no number of workers',
		['run', pipelines, '--workers', 'many'],
		"error: option '-w, --workers <n>' argument 'many' is invalid. It must be a whole number from 1, or auto.\n",
	],
	[
		'zero workers',
		['run', pipelines, '--workers', '0'],
		"error: option '-w, --workers <n>' argument '0' is invalid. It must be a whole number from 1, or auto.\n",
	],
	[
		'a mistyped form of progress',
		['run', pipelines, '--progress', 'jsn'],
		"error: option '-p, --progress <form>' argument 'jsn' is invalid. It must be one of bars, lines, json, none.\n(Did you mean json?)\n",
	],
	[
		'a resource without an amount',
		['run', pipelines, '--resource', 'gpu'],
		"error: option '--resource <name=amount>' argument 'gpu' is invalid. It must be NAME=AMOUNT, such as gpu=2.\n",
	],
	[
		'an impossible limit',
		['run', pipelines, '--max-failures', '0'],
		"error: option '--max-failures <n>' argument '0' is invalid. It must be a whole number from 1.\n",
	],
];

for (const [name, args, message] of mistakes) {
	test(`${name} is explained, with exit code 2`, async (t) => {
		const { code, stdout, stderr } = await new CliScratch(t).run(...args);
		t.is(stderr, message);
		t.is(stdout, '');
		t.is(code, 2);
	});
}
