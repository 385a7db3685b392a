import test from 'ava';
import { describeTask } from '../../src/native-scheduler.js';
import { readVectors, type VectorTask } from '../vectors-read.js';
import { goldenTask, isBeyondNumbers, isRefused } from './golden-tasks.js';

interface HashCase extends VectorTask {
	case: number;
	note: string;
	hash: string;
}

test('every line of hashes.jsonl has the layout hash that daisy stored', (t) => {
	const lines = readVectors<HashCase>('hashes.jsonl');
	let refused = 0;
	for (const line of lines) {
		if (isBeyondNumbers(line)) {
			t.true(isRefused(line), `case ${line.case}: ${line.note}`);
			refused++;
			continue;
		}
		const task = goldenTask('t', line);
		t.is(task.layoutHash, line.hash, `case ${line.case}: ${line.note}`);
		t.is(describeTask(task.nativeSpec).layoutHash, line.hash, `case ${line.case}: ${line.note}`);
	}
	t.log(`${lines.length} lines, ${refused} refused`);
	t.true(lines.length - refused > 20);
});
