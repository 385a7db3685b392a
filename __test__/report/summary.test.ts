import test from 'ava';
import { renderSummary } from '../../src/report/summary.ts';
import { buggy, clean, dist, failure, report, rerun, resumed, task } from './seed-reports.ts';

const driver = '\n\n  driver   365.0 ms wall, 42.1 ms cpu, 58.4 MB peak rss';

test('a clean run prints the tutorial’s table and panel', (t) => {
	t.is(
		renderSummary(clean),
		`Execution Summary
-----------------

    task     blocks   completed  skipped  failed  orphaned
    ──────  ───────  ──────────  ───────  ──────  ────────
    mws ✔        16          16        0       0         0

Resource Utilization
--------------------

  mws   16 blocks, 4 workers, 349.4 ms wall
    blocks   round trip 15.4 ms ± 6.8 ms
    workers  startup 249.8 ms ± 36.1 ms   idle 129.1 µs ± 304.1 µs   teardown 35.0 ms ± 5.6 ms
             exits 4 clean
        id    startup  blocks       idle         idle / block    compute      compute / block   teardown  exit
         0   263.1 ms       3    29.0 µs      9.7 µs ± 6.0 µs    48.7 ms    16.2 ms ± 12.0 ms    28.4 ms  clean
         1   286.8 ms       2    19.9 µs     10.0 µs ± 0.2 µs    27.2 ms     13.6 ms ± 3.8 ms    35.1 ms  clean
         2   248.3 ms       3     1.4 ms  459.7 µs ± 683.6 µs    57.4 ms     19.1 ms ± 5.7 ms    42.2 ms  clean
         3   201.2 ms       8   636.9 µs    79.6 µs ± 69.3 µs   112.9 ms     14.1 ms ± 6.1 ms    34.4 ms  clean${driver}`,
	);
});

test('a run in which every block was skipped has dashes where nothing was measured', (t) => {
	t.is(
		renderSummary(rerun),
		`Execution Summary
-----------------

    task     blocks   completed  skipped  failed  orphaned
    ──────  ───────  ──────────  ───────  ──────  ────────
    mws ✔        16          16       16       0         0

Resource Utilization
--------------------

  mws   16 blocks (16 skipped), 4 workers, 283.6 ms wall
    workers  startup 208.8 ms   idle —   teardown 58.8 ms ± 16.5 ms
             exits 4 clean
        id    startup  blocks       idle         idle / block    compute      compute / block   teardown  exit
         0   208.8 ms       0          —                    —          —                    —    40.9 ms  clean
         1          —       0          —                    —          —                    —    48.9 ms  clean
         2          —       0          —                    —          —                    —    70.9 ms  clean
         3          —       0          —                    —          —                    —    74.6 ms  clean${driver}`,
	);
});

test('a failed block shows its stack, the logs, and the exits of its workers', (t) => {
	t.is(
		renderSummary(buggy),
		`Execution Summary
-----------------

    task     blocks   completed  skipped  failed  orphaned
    ──────  ───────  ──────────  ───────  ──────  ────────
    mws ✗        16          15        0       1         0

    First failure in task 'mws':
      mws/7 at (1, 2), writes [128, 256) x [256, 384), attempt 3, worker 4
      Error: simulated failure on tile (1, 2) (block mws/7)
          at processBlockBuggy (file:///job/tiles.js:19:9)

    See worker logs for details under /data/logs/mws/

Resource Utilization
--------------------

  mws   15 blocks, 5 workers, 472.3 ms wall
    blocks   round trip 9.4 ms ± 1.5 ms
             3 failed attempt(s)
    workers  startup 216.4 ms ± 51.3 ms   idle 36.1 µs ± 41.3 µs   teardown 27.0 ms ± 1.6 ms
             exits 2 clean  3 error
        id    startup  blocks       idle         idle / block    compute      compute / block   teardown  exit
         0   239.0 ms       6   235.6 µs    39.3 µs ± 45.3 µs    44.6 ms      7.4 ms ± 3.2 ms          —  error
         1   238.9 ms       2    43.3 µs    21.7 µs ± 21.3 µs    15.1 ms      7.5 ms ± 5.8 ms          —  error
         2   242.7 ms       4   140.3 µs    35.1 µs ± 50.5 µs    40.3 ms     10.1 ms ± 1.1 ms    25.8 ms  clean
         3   236.5 ms       5   225.8 µs    45.2 µs ± 46.8 µs    45.9 ms      9.2 ms ± 2.2 ms    28.1 ms  clean
         4   124.7 ms       1     4.5 µs               4.5 µs     3.0 ms               3.0 ms          —  error${driver}`,
	);
});

test('a resumed run counts what was skipped', (t) => {
	const text = renderSummary(resumed);
	t.true(
		text.includes(
			'  mws   16 blocks (15 skipped), 4 workers, 276.0 ms wall\n    blocks   round trip 12.4 ms\n',
		),
	);
	t.true(
		text.includes(
			'    workers  startup 236.6 ms ± 4.9 ms   idle 55.6 µs   teardown 33.2 ms ± 5.1 ms\n',
		),
	);
});

test('symbols: failed before orphaned before unfinished before done', (t) => {
	const text = renderSummary(
		report([
			task({ taskId: 'first', total: 4, completed: 3, failed: 1 }),
			task({ taskId: 'second_task', total: 4, completed: 3, orphaned: 1 }),
			task({ taskId: 'third', total: 4, completed: 3, ready: 1 }),
			task({ taskId: 'z', total: 4, completed: 4 }),
		]),
	);
	const rows = text.split('\n').slice(3, 9);
	t.deepEqual(rows, [
		'    task            blocks   completed  skipped  failed  orphaned',
		'    ─────────────  ───────  ──────────  ───────  ──────  ────────',
		'    first ✗              4           3        0       1         0',
		'    second_task ∅        4           3        0       0         1',
		'    third …              4           3        0       0         0',
		'    z ✔                  4           4        0       0         0',
	]);
});

test('timeouts name the value and whether it was the default', (t) => {
	const one = renderSummary(
		report([task({ timeouts: 2, timeoutMs: 1_000, timeoutIsDefault: false })]),
	);
	t.true(
		one.includes("2 block attempt(s) of task 'mws' ran past timeoutMs: 1000; raise timeoutMs"),
	);
	const other = renderSummary(report([task({ timeouts: 1 })]));
	t.true(other.includes('ran past the default timeoutMs of 600000;'));
});

test('several failed tasks list their log folders', (t) => {
	const text = renderSummary(
		report(
			[
				task({ taskId: 'a1', failed: 1, failures: [failure], logDir: '/data/logs/a1' }),
				task({ taskId: 'b2', failed: 3, failures: [failure], logDir: '/data/logs/b2' }),
			],
			{ logDir: '/data/logs' },
		),
	);
	t.true(
		text.includes(
			'    See worker logs for failed tasks under /data/logs/\n      /data/logs/a1/\n      /data/logs/b2/',
		),
	);
	t.is(text.match(/simulated failure/g)?.length, 1);
});

test('failuresShown lists more, across tasks, and counts the rest', (t) => {
	const failures = Array.from({ length: 5 }, (_, i) => ({
		...failure,
		block: { ...failure.block!, id: `mws/${i}` },
		stack: `Error: number ${i}`,
	}));
	const logged = task({ failed: 9, failures, logDir: '/data/logs/mws' });
	const text = renderSummary(report([logged]), { failuresShown: 2 });
	t.true(
		text.includes(
			`    First 2 failures in task 'mws':
      mws/0 at (1, 2), writes [128, 256) x [256, 384), attempt 3, worker 4
      Error: number 0

      mws/1 at (1, 2), writes [128, 256) x [256, 384), attempt 3, worker 4
      Error: number 1
`,
		),
	);
	t.true(text.includes('      (+ 7 more failed blocks; see worker logs)'));
	t.false(text.includes('number 2'));
	const unlogged = renderSummary(report([task({ failed: 9, failures })]));
	t.regex(unlogged, /\(\+ 8 more failed blocks\)$/m);
});

test('a failure is broken between its parts on a narrow terminal, and one without a block says so', (t) => {
	const failures = [failure, { ...failure, block: null, workerId: null, stack: 'Error: lost' }];
	const lines = renderSummary(report([task({ failed: 2, failures })]), {
		failuresShown: 2,
		columns: 40,
	}).split('\n');
	const at = lines.indexOf("    First 2 failures in task 'mws':");
	t.deepEqual(lines.slice(at + 1, at + 4), [
		'      mws/7 at (1, 2),',
		'      writes [128, 256) x [256, 384),',
		'      attempt 3, worker 4',
	]);
	t.deepEqual(lines.slice(at + 7, at + 9), ['      no block, attempt 3', '      Error: lost']);
});

test('a thousand failures of 10 KB stay under 64 KB', (t) => {
	const failures = Array.from({ length: 1_000 }, () => ({
		...failure,
		message: 'x',
		stack: 'x'.repeat(10_240),
	}));
	const text = renderSummary(
		report([
			task({ total: 1_000, completed: 0, failed: 1_000, failures, logDir: '/data/logs/mws' }),
		]),
		{
			failuresShown: 1_000,
		},
	);
	t.true(Buffer.byteLength(text) < 65_536);
	t.true(text.includes('8240 more characters; see worker logs'));
	t.regex(text, /\(\+ \d+ more failed blocks; see worker logs\)/);
});

test('failures in wide characters or of many lines stay under 64 KB as well', (t) => {
	for (const stack of ['界'.repeat(10_000), 'a\n'.repeat(5_000)]) {
		const failures = Array.from({ length: 1_000 }, () => ({ ...failure, stack }));
		const tasks = [task({ total: 1_000, completed: 0, failed: 1_000, failures })];
		const text = renderSummary(report(tasks), { failuresShown: 1_000 });
		t.true(Buffer.byteLength(text) < 65_536, `${Buffer.byteLength(text)}`);
	}
});

for (const columns of [40, 80, 200]) {
	test(`at ${columns} columns the panel fits`, (t) => {
		const lines = renderSummary(clean, { columns }).split('\n');
		const table = lines.filter((line) => /^ {8}(id| \d|\d\d) /.test(line));
		t.is(table.length, columns < 72 ? 0 : 5);
		for (const line of lines) t.true(line.length <= Math.max(columns, 40), line);
	});
}

test('an interrupted run says so first', (t) => {
	const text = renderSummary(
		report([task({ completed: 3, ready: 13 })], { interrupted: 'SIGINT' }),
	);
	t.true(
		text.startsWith('Interrupted by SIGINT: what had finished by then\n\nExecution Summary\n'),
	);
	t.true(text.includes('mws …'));
});

test('80 columns: every line fits, and the worker table drops its columns a block', (t) => {
	const text = renderSummary(buggy, { columns: 80 });
	t.true(text.split('\n').every((line) => line.length <= 80));
	t.is(
		text.slice(text.indexOf('  mws   15 blocks')),
		`  mws   15 blocks, 5 workers, 472.3 ms wall
    blocks   round trip 9.4 ms ± 1.5 ms
             3 failed attempt(s)
    workers  startup 216.4 ms ± 51.3 ms   idle 36.1 µs ± 41.3 µs
             teardown 27.0 ms ± 1.6 ms
             exits 2 clean  3 error
        id    startup  blocks       idle    compute   teardown  exit
         0   239.0 ms       6   235.6 µs    44.6 ms          —  error
         1   238.9 ms       2    43.3 µs    15.1 ms          —  error
         2   242.7 ms       4   140.3 µs    40.3 ms    25.8 ms  clean
         3   236.5 ms       5   225.8 µs    45.9 ms    28.1 ms  clean
         4   124.7 ms       1     4.5 µs     3.0 ms          —  error${driver}`,
	);
});

test('40 columns: lists in place of tables', (t) => {
	t.is(
		renderSummary(rerun, { columns: 40 }),
		`Execution Summary
-----------------

    mws ✔
      16 blocks, 16 completed,
      16 skipped, 0 failed, 0 orphaned

Resource Utilization
--------------------

  mws   16 blocks (16 skipped),
        4 workers, 283.6 ms wall
    workers  startup 208.8 ms   idle —
             teardown 58.8 ms ± 16.5 ms
             exits 4 clean

  driver   365.0 ms wall, 42.1 ms cpu,
           58.4 MB peak rss`,
	);
});

test('40 columns: whatever can be broken fits', (t) => {
	const long = { count: 16, mean: 0.9999, std: 0.9999, sum: 16 };
	const bytes = { count: 16, mean: 999.9 * 2 ** 20, std: 999.9 * 2 ** 20, sum: 16 };
	const [task] = buggy.tasks;
	const text = renderSummary(
		report(
			[
				{
					...task!,
					roundTrip: long,
					timeouts: 2,
					checkErrors: 3,
					abandonReason: 'worker restart cap exhausted',
					resources: {
						wall: long,
						cpu: long,
						peakRssBytes: bytes,
						ioReadBytes: bytes,
						ioWriteBytes: bytes,
						maxPeakRssBytes: 999.9 * 2 ** 20,
						notes: ['cpu, memory and I/O: several blocks ran at once'],
					},
					workers: task!.workers.map((worker) => ({
						...worker,
						startupSeconds: worker.workerId % 2,
						idle: long,
						exitReason:
							worker.exit === 'error' ? 'killed by SIGKILL, maybe for want of memory' : '',
					})),
				},
			],
			{ logDir: '/data/logs' },
		),
		{ columns: 40 },
	);
	const own = text.split('\n').filter((line) => !line.includes('processBlockBuggy'));
	t.deepEqual(
		own.filter((line) => line.length > 40 && !line.startsWith('      Error: ')),
		[],
	);
	t.is(
		text.slice(text.indexOf('    2 block attempt'), text.indexOf('\n  driver')),
		`    2 block attempt(s) of task 'mws' ran
    past the default timeoutMs of
    600000; raise timeoutMs for slow
    blocks
    checkFunction of task 'mws' gave no
    answer for 3 block(s); they ran as
    not done
    task 'mws' was abandoned: worker
    restart cap exhausted

    See worker logs for details under
    /data/logs/mws/

Resource Utilization
--------------------

  mws   15 blocks, 5 workers,
        472.3 ms wall
    blocks
      round trip 999.9 ms ± 999.9 ms
             3 failed attempt(s)
    measured wall 999.9 ms ± 999.9 ms
             cpu 999.9 ms ± 999.9 ms
      peak rss 999.9 MB ± 999.9 MB,
      largest 999.9 MB
             read 999.9 MB ± 999.9 MB
             written 999.9 MB ± 999.9 MB
             cpu, memory and I/O:
             several blocks ran at once
    workers  startup 400.0 ms ± 547.7 ms
             idle 999.9 ms ± 974.3 ms
             teardown 27.0 ms ± 1.6 ms
             exits 2 clean  3 error
             worker 0: killed by
             SIGKILL, maybe for want of
             memory
             worker 1: killed by
             SIGKILL, maybe for want of
             memory
             worker 4: killed by
             SIGKILL, maybe for want of
             memory
`,
	);
});

test('names with wide characters keep the table in line', (t) => {
	const lines = renderSummary(report([task({ taskId: '日本' }), task({ taskId: 'abcd' })])).split(
		'\n',
	);
	t.is(lines[5], '    日本 ✔       16          16        0       0         0');
	t.is(lines[6], '    abcd ✔       16          16        0       0         0');
});

test('measurements, check errors and abandonment are told', (t) => {
	const kilobytes = dist(16, 2048, 512);
	const text = renderSummary(
		report([
			task({
				completed: 4,
				failed: 4,
				orphaned: 8,
				checkErrors: 16,
				abandonReason: 'worker restart cap exhausted',
				roundTrip: dist(4, 0.01, 0.001),
				resources: {
					wall: dist(16, 0.012, 0.002),
					cpu: dist(16, 0.011, 0.001),
					peakRssBytes: dist(16, 50 * 2 ** 20, 2 ** 20),
					ioReadBytes: kilobytes,
					ioWriteBytes: kilobytes,
					maxPeakRssBytes: 60 * 2 ** 20,
					notes: ['cpu, memory and I/O: several blocks ran at once'],
				},
			}),
		]),
	);
	t.is(
		text.slice(text.indexOf('    mws ✗')),
		`    mws ✗        16           4        0       4         8

    checkFunction of task 'mws' gave no answer for 16 block(s); they ran as not done
    task 'mws' was abandoned: worker restart cap exhausted

Resource Utilization
--------------------

  mws   4 blocks, 0 workers, 349.4 ms wall
    blocks   round trip 10.0 ms ± 1.0 ms
    measured wall 12.0 ms ± 2.0 ms   cpu 11.0 ms ± 1.0 ms
             peak rss 50.0 MB ± 1.0 MB, largest 60.0 MB
             read 2.0 KB ± 512.0 B   written 2.0 KB ± 512.0 B
             cpu, memory and I/O: several blocks ran at once${driver}`,
	);
});

test('paint changes the symbols of tasks and nothing else', (t) => {
	const paint = (symbol: string) => `<${symbol}>`;
	const painted = renderSummary(buggy, { paint });
	t.true(painted.includes('mws <✗> '));
	t.is(painted.replaceAll(/<(.)>/g, '$1'), renderSummary(buggy));
});

test('what follows a name longer than the terminal stays in sight', (t) => {
	const taskId = 'n'.repeat(60);
	const [task] = clean.tasks;
	const text = renderSummary({ ...clean, tasks: [{ ...task!, taskId }] }, { columns: 40 });
	t.deepEqual(
		text.split('\n').filter((line) => line.length > 40 && !line.includes(taskId)),
		[],
	);
});
