import test from 'ava';
import { measurementNotes } from '../../src/run/measurement-notes.js';

const stat = (count: number, mean: number) => ({
	count,
	mean,
	std: 0,
	total: count * mean,
	min: mean,
	max: mean,
});

test('what a platform cannot measure is said, and nothing where all is there', (t) => {
	const cpu = stat(3, 0.5);
	t.deepEqual(measurementNotes(1, { cpu, peakRss: stat(3, 1e6) }), []);
	t.deepEqual(measurementNotes(1, { cpu: stat(0, 0), peakRss: stat(0, 0) }), []);
	t.deepEqual(measurementNotes(1, { cpu, peakRss: stat(3, 0) }), [
		'memory and I/O: not measured on this platform',
	]);
	const none = stat(3, Number.NaN);
	t.deepEqual(measurementNotes(1, { cpu: none, peakRss: stat(3, 0) }), [
		'cpu, memory and I/O: not measured on this platform',
	]);
	t.deepEqual(measurementNotes(2, { cpu: none, peakRss: stat(3, 0) }), [
		'cpu, memory and I/O: several blocks ran at once',
	]);
});
