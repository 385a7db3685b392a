import test from 'ava';
import fc from 'fast-check';
import { Context, type ContextFields } from '../src/context.js';

const fields: ContextFields = {
	hostname: 'fd00::1',
	port: 4711,
	taskId: 'a=b:100%',
	workerId: 3,
	logDir: null,
	resourceTracking: true,
	machine: null,
	secret: '00ff',
	connectionFile: '/run/a:b/secret',
};

test('a context is written as the native side reads it', (t) => {
	t.is(
		Context.of({ ...fields, secret: null }).toEnv().BELLIS_CONTEXT,
		'hostname=fd00%3A%3A1:port=4711:secret_file=/run/a%3Ab/secret:task_id=a%3Db%3A100%25:worker_id=3:logdir=:resource_tracking=1',
	);
});

test('a context for others holds no secret', (t) => {
	const context = Context.of(fields);
	t.false(JSON.stringify(context).includes('00ff'));
	t.false(context.toEnv().BELLIS_CONTEXT.includes('00ff'));
	t.true(context.toSecretText().includes('secret=00ff'));
	t.throws(() => Context.of({ ...fields, connectionFile: null }).toEnv(), {
		code: 'ERR_BELLIS_CONNECTION',
	});
});

test('any task id, host, directory and worker survives the environment', (t) => {
	const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
	const names = [
		'dummy:123',
		'a=b',
		'a b',
		'日本',
		'%3A',
		'%',
		'x'.repeat(200),
		'::1',
		'fe80::1%eth0',
	];
	const name = fc.oneof(text, fc.constantFrom(...names));
	fc.assert(
		fc.property(
			name,
			name,
			fc.option(name),
			fc.option(fc.nat(2 ** 32 - 2)),
			fc.boolean(),
			(taskId, hostname, logDir, workerId, resourceTracking) => {
				const given = { ...fields, taskId, hostname, logDir, workerId, resourceTracking };
				const read = Context.parse(Context.of(given).toSecretText());
				t.like(read, { taskId, hostname, logDir, workerId, resourceTracking, port: 4711 });
				t.is(read.toSecretText(), Context.of(given).toSecretText());
			},
		),
	);
});

test('escapes in lower case, unknown keys and empty parts are taken', (t) => {
	const text =
		'::later=x:resource_tracking=True:worker_id=3:task_id=a%3db%3a100%25:secret_file=/run/a%3Ab/secret:port=4711:hostname=fd00%3a%3A1:';
	t.like(Context.parse(text), {
		hostname: 'fd00::1',
		taskId: 'a=b:100%',
		workerId: 3,
		logDir: null,
		resourceTracking: true,
	});
	t.is(Context.parse('hostname=a:port=1:secret=f:task_id=100%, %zz').taskId, '100%, %zz');
});

test('a missing or bad context is refused without showing it', (t) => {
	t.throws(() => Context.fromEnv({}), { message: /BELLIS_CONTEXT is missing/ });
	t.throws(() => Context.fromEnv({ BELLIS_CONTEXT: '' }), { message: /is missing/ });
	const good = 'hostname=a:port=1:secret=5ec2e7:task_id=t';
	t.is(Context.fromEnv({ BELLIS_CONTEXT: good }).workerId, null);
	for (const [text, what] of [
		[`${good}:5ec2e7`, /"="/],
		[good.replace('hostname=a:', ''), /hostname/],
		[good.replace('port=1', 'port=70000'), /port/],
		[good.replace('port=1', 'port=1e3'), /port/],
		[good.replace('task_id=t', ''), /task_id/],
		[good.replace('secret=5ec2e7:', ''), /secret/],
		[`${good}:worker_id=-1`, /worker_id/],
	] as const) {
		const error = t.throws(() => Context.parse(text), { message: what });
		t.is((error as { path?: string }).path, 'BELLIS_CONTEXT');
		t.false(error!.message.includes('5ec2e7'), error!.message);
	}
});

test('the config is added without losing the rest', (t) => {
	const context = Context.of(fields).withConfig({ a: 1 });
	t.deepEqual(context.config, { a: 1 });
	t.is(context.toSecretText(), Context.of(fields).toSecretText());
});
