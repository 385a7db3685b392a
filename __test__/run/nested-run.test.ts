import test from 'ava';
import { refuseNestedRun } from '../../src/run/nested-run.js';
import { markAsWorker } from '../../src/worker/marker.js';

test('a worker starts no run while it imports its module, and none with workers later', (t) => {
	t.notThrows(() => refuseNestedRun(true));
	const mark = markAsWorker('segment', '');
	t.throws(() => refuseNestedRun(false), {
		code: 'ERR_BELLIS_FUNCTION',
		message: /^the module with the function of task "segment" starts a run when it is imported/,
	});
	t.is((mark.nestedRun as { code?: string }).code, 'ERR_BELLIS_FUNCTION');
	mark.loading = false;
	t.notThrows(() => refuseNestedRun(false));
	t.throws(() => refuseNestedRun(true), { message: /pass multiprocessing: false/ });
});
