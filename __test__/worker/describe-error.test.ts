import test from 'ava';
import { errorText, parsedDetails } from '../../src/report/error-text.js';
import { describeError } from '../../src/worker/describe-error.js';

class FieldError extends Error {
	readonly code = 'E_FIELD';
	readonly tile = [1, 2];
}

test('an error keeps name, message, its fields and a stack with the file', (t) => {
	const report = describeError(new FieldError('bad tile'));
	t.is(report.name, 'FieldError');
	t.is(report.message, 'bad tile');
	t.regex(report.stack!, /describe-error\.test\.ts/);
	t.deepEqual(parsedDetails(report.details).fields, { code: 'E_FIELD', tile: '[ 1, 2 ]' });
});

test('causes arrive, also where they are circular', (t) => {
	const inner = new TypeError('inner');
	const outer = new Error('outer', { cause: inner });
	inner.cause = outer;
	const { cause } = parsedDetails(describeError(outer).details);
	t.is(cause?.name, 'TypeError');
	t.is(cause?.message, 'inner');
	t.is(cause?.cause?.message, '[seen above: circular]');
	t.regex(errorText(describeError(outer)), /\[cause\]: TypeError: inner/);
});

test('an AggregateError brings its first errors and the number of the rest', (t) => {
	const many = Array.from({ length: 25 }, (_, i) => new RangeError(`part ${i}`));
	const details = parsedDetails(describeError(new AggregateError(many, 'all')).details);
	t.is(details.errors!.length + details.moreErrors!, 25);
	t.is(details.errors![0]!.message, 'part 0');
	t.is(describeError(new AggregateError(many, 'all')).name, 'AggregateError');
});

const circular: { self?: unknown; value: number } = { value: 1 };
circular.self = circular;
const strange: [string, unknown, RegExp][] = [
	['a string', 'just text', /^just text$/],
	['an empty string', '', /^$/],
	['undefined', undefined, /^undefined$/],
	['null', null, /^null$/],
	['a number', 42, /^42$/],
	['a symbol', Symbol('s'), /^Symbol\(s\)$/],
	['a circular object', circular, /Circular/],
	[
		'an object whose toString throws',
		{
			toString() {
				throw new Error('no');
			},
		},
		/toString/,
	],
	[
		'a proxy that refuses everything',
		new Proxy(
			{},
			{
				get() {
					throw new Error('no');
				},
				getPrototypeOf() {
					throw new Error('no');
				},
				ownKeys() {
					throw new Error('no');
				},
			},
		),
		/./,
	],
];
for (const [what, value, message] of strange) {
	test(`${what} that is thrown has a name and a message`, (t) => {
		const report = describeError(value);
		t.is(report.name, 'ThrownValue');
		t.regex(report.message, message);
		t.is(report.stack, null);
	});
}

test('an error whose getters throw is still described', (t) => {
	const error = new Error('hidden');
	for (const key of ['stack', 'message', 'name', 'cause', 'extra']) {
		Object.defineProperty(error, key, {
			enumerable: true,
			get() {
				throw new Error('getter');
			},
		});
	}
	const report = describeError(error);
	t.is(report.message, '[its getter threw]');
	t.is(parsedDetails(report.details).fields!.extra, '[its getter threw]');
});

test('a message of 16 MB is cut with a note, and so is the stack that repeats it', (t) => {
	const report = describeError(new Error('x'.repeat(16 << 20)));
	t.true(report.message.length < 9000);
	t.regex(report.message, /… \(16769024 more characters\)$/);
	t.true(report.stack!.length < 20_000);
	t.regex(report.stack!, /describe-error\.test\.ts/);
	t.true(report.details!.length <= 16_384);
});

test('a deep chain of causes with long messages stays within the limit', (t) => {
	let error = new Error('root');
	for (let i = 0; i < 100; i++) error = new Error('y'.repeat(5000), { cause: error });
	const report = describeError(error);
	t.true(report.details!.length <= 16_384);
	t.is(parsedDetails(report.details).cause!.name, 'Error');
});

test('half a surrogate pair at the cut does no harm', (t) => {
	const report = describeError(new Error(`${'z'.repeat(8191)}😀${'z'.repeat(10)}`));
	t.notRegex(report.message, /[\ud800-\udbff](?![\udc00-\udfff])/);
	t.true(report.message.includes('\ufffd'));
});
