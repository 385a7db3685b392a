import test from 'ava';
import { availableWorkers, type Machine } from '../../src/task/available-workers.js';
import { task } from './tasks.js';

function machine(parallelism: number, env = {}, files: Record<string, string> = {}): Machine {
	return { parallelism: () => parallelism, env, readText: (path) => files[path] ?? null };
}

/** Title of the difficulty that these tests are about. */
const CONTAINER = 'CPU count inside a container';

test(`${CONTAINER}: auto takes what the process may use, and never nothing`, (t) => {
	t.is(availableWorkers(machine(2)), 2);
	t.is(availableWorkers(machine(0)), 1);
	t.is(availableWorkers(machine(72, { SLURM_CPUS_PER_TASK: '4' })), 4);
	t.is(availableWorkers(machine(72, { LSB_DJOB_NUMPROC: '3' })), 3);
	t.is(availableWorkers(machine(2, { SLURM_CPUS_PER_TASK: '4' })), 2);
	t.is(availableWorkers(machine(8, { SLURM_CPUS_PER_TASK: 'many', LSB_DJOB_NUMPROC: '' })), 8);
});

test(`${CONTAINER}: auto heeds the cgroup, also for less than one processor`, (t) => {
	const own = { '/proc/self/cgroup': '0::/jobs/a\n' };
	t.is(availableWorkers(machine(72, {}, { '/sys/fs/cgroup/cpu.max': '50000 100000\n' })), 1);
	t.is(availableWorkers(machine(72, {}, { '/sys/fs/cgroup/cpu.max': 'max 100000\n' })), 72);
	t.is(
		availableWorkers(machine(72, {}, { ...own, '/sys/fs/cgroup/jobs/cpu.max': '350000 100000\n' })),
		3,
		'a group above the own one limits too',
	);
	t.is(
		availableWorkers(
			machine(
				72,
				{},
				{
					'/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '200000\n',
					'/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
				},
			),
		),
		2,
	);
	t.is(
		availableWorkers(
			machine(
				72,
				{},
				{
					'/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
					'/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
				},
			),
		),
		72,
	);
});

test('a task turns auto into a number', (t) => {
	const { maxWorkers } = task('a', { maxWorkers: 'auto' });
	t.true(Number.isInteger(maxWorkers) && maxWorkers >= 1);
});
