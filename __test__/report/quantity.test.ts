import test from 'ava';
import fc from 'fast-check';
import { distributionOf, mergeDistributions } from '../../src/report/distribution.ts';
import { formatBytes, formatDistribution, formatDuration } from '../../src/report/quantity.ts';

test('durations have one decimal in the largest unit that they fill', (t) => {
	const cases: [number, string][] = [
		[0, '0.0 µs'],
		[2e-7, '0.2 µs'],
		[9.7e-6, '9.7 µs'],
		[9.9994e-4, '999.9 µs'],
		[9.99961e-4, '1.0 ms'],
		[0.3494, '349.4 ms'],
		[0.96, '960.0 ms'],
		[0.99996, '1.0 s'],
		[59.94, '59.9 s'],
		[59.96, '1.0 min'],
		[3599, '1.0 h'],
		[86_400, '24.0 h'],
		[Number.NaN, '—'],
	];
	for (const [seconds, text] of cases) t.is(formatDuration(seconds), text);
});

test('sizes go in steps of 1024', (t) => {
	t.is(formatBytes(98), '98.0 B');
	t.is(formatBytes(1023.96), '1.0 KB');
	t.is(formatBytes(21_647_360), '20.6 MB');
	t.is(formatBytes(2 ** 60), '1024.0 PB');
});

test('the spread is the sample form, absent below two samples', (t) => {
	const startups = distributionOf([0.26306, 0.28679, 0.24828, 0.20117]);
	t.is(formatDistribution(startups), '249.8 ms ± 36.1 ms');
	t.is(formatDistribution(distributionOf([0.0045])), '4.5 ms');
	t.is(formatDistribution(distributionOf([])), '—');
});

test('merged parts have the distribution of all samples together', (t) => {
	const samples = fc.array(
		fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 8 }),
	);
	fc.assert(
		fc.property(samples, (groups) => {
			const merged = mergeDistributions(groups.map((group) => distributionOf(group)));
			const all = distributionOf(groups.flat());
			t.is(merged.count, all.count);
			const close = (a: number, b: number) =>
				Number.isNaN(a) ? Number.isNaN(b) : Math.abs(a - b) <= 1e-6 * (1 + Math.abs(b));
			return (
				close(merged.mean, all.mean) && close(merged.std, all.std) && close(merged.sum, all.sum)
			);
		}),
	);
});
