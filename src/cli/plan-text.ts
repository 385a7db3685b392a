import { intervalsText } from '../report/coverage.js';
import { counted, formatBytes } from '../report/quantity.js';
import { intervalsOf, shapeText } from '../report/region-text.js';
import type { Plan, PlannedBlock, PlannedTask } from './plan-data.js';

/** A plan as a person reads it. */
export function planText({ tasks, edges, problem }: Plan): string[] {
	const lines = tasks.flatMap((task) => [...taskLines(task), '']);
	if (edges.length > 0) {
		lines.push('Order of tasks', ...edges.map(([up, down]) => `    ${up} -> ${down}`), '');
	}
	lines.push(totalLine(tasks));
	const problems = [
		...(problem === null ? [] : [problem]),
		...tasks.flatMap(({ store }) => (store?.problem ? [store.problem] : [])),
	];
	return [...lines, ...problems.map((text) => `A run would refuse this: ${text}`)];
}

function taskLines(task: PlannedTask): string[] {
	const { skips, store, uncovered, first, last, levels } = task;
	const rows: [label: string, text: string][] = [
		['function', task.function ?? 'none'],
		['total', intervalsOf(task.total.begin, task.total.end)],
		['blocks', blocksText(task)],
		['order', orderText(task)],
		['covered', first === null ? 'nothing' : intervalsOf(task.covered.begin, task.covered.end)],
		['uncovered', uncovered.length === 0 ? 'nothing' : intervalsText(uncovered)],
	];
	if (first !== null && last !== null) {
		rows.push(['first', blockText(first)], ['last', blockText(last)]);
	}
	const needs = Object.entries(task.requires).map(([name, amount]) => `${name} ${amount}`);
	const each = needs.length > 0 ? `, each needs ${needs.join(', ')}` : '';
	rows.push(['workers', `at most ${task.maxWorkers}${each}`]);
	if (store === null) rows.push(['store', 'none: nothing is remembered']);
	else {
		const state = store.exists ? `${store.done} done, ${store.failed} failed` : 'not there yet';
		rows.push(['store', `${store.path} (${state}; ${formatBytes(store.bytes)} when full)`]);
	}
	rows.push(['skips', skipsText(skips)]);
	if (levels === 0 && first === null) rows.splice(3, 1);
	return [task.taskId, ...rows.map(([label, text]) => `    ${label.padEnd(11)}${text}`)];
}

function blocksText({ blocks, blockGridShape, writeShape, readShape, fit }: PlannedTask): string {
	return `${blocks} (${shapeText(blockGridShape)}), each writes ${shapeText(writeShape)} and reads ${shapeText(readShape)}, fit '${fit}'`;
}

function orderText({ levels, roots, readWriteConflict }: PlannedTask): string {
	const start = `${roots} can start at once`;
	return readWriteConflict ? `${counted(levels, 'level')}, ${start}` : `no conflicts, ${start}`;
}

function blockText({ id, readRoi, writeRoi }: PlannedBlock): string {
	return `${id} writes ${intervalsOf(writeRoi.begin, writeRoi.end)}, reads ${intervalsOf(readRoi.begin, readRoi.end)}`;
}

function skipsText({ done, masked, blocks, checked }: PlannedTask['skips']): string {
	const parts = [`${done} done`, `${masked} masked`];
	if (checked) parts.push('and what checkFunction says is done');
	return `${blocks} (${parts.join(', ')})`;
}

function totalLine(tasks: readonly PlannedTask[]): string {
	const blocks = tasks.reduce((sum, task) => sum + task.blocks, 0n);
	const skipped = tasks.reduce((sum, { skips }) => sum + BigInt(skips.blocks), 0n);
	const workers = tasks.reduce((sum, task) => sum + task.maxWorkers, 0);
	return `A run would do ${blocks - skipped} of ${blocks} block${blocks === 1n ? '' : 's'} on at most ${counted(workers, 'worker')}.`;
}
