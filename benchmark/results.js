// What every benchmark hands over: rows of one shape, printed as a table and written as JSON.
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, type } from 'node:os';

/**
 * @typedef {object} Result
 * @property {string} case what was measured, such as `3d-64000`
 * @property {string} metric `drain`, `resume`, `throughput`, …
 * @property {string} unit
 * @property {number} value median over the repeats
 * @property {number} n number of repeats
 * @property {string} impl who was measured
 * @property {number} [blocksPerSecond] the value, where the unit is blocks/s
 */

/** The machine that the figures hold for. */
export function machine() {
	return {
		cpu: cpus()[0]?.model.trim() ?? 'unknown',
		cores: availableParallelism(),
		node: process.version,
		os: `${type()} ${release()}`,
		date: new Date().toISOString(),
	};
}

/** @param {number[]} values */
export function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * A row from repeated rates.
 *
 * @param {string} name the case
 * @param {string} impl
 * @param {string} metric
 * @param {number[]} rates blocks per second, one a repeat
 * @returns {Result}
 */
export function rateResult(name, impl, metric, rates) {
	const value = median(rates);
	return {
		case: name,
		metric,
		unit: 'blocks/s',
		value,
		n: rates.length,
		impl,
		blocksPerSecond: value,
	};
}

/** A row of any other unit. */
export function result(name, impl, metric, unit, values) {
	return { case: name, metric, unit, value: median(values), n: values.length, impl };
}

/** A number with three significant digits and thousands separated. */
export function figure(value) {
	if (!Number.isFinite(value)) return String(value);
	const digits =
		Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 4;
	return value.toLocaleString('en-US', {
		minimumFractionDigits: digits,
		maximumFractionDigits: digits,
	});
}

/**
 * Prints the rows as a Markdown table, with the ratio to the peer in the same case and metric.
 *
 * @param {Result[]} results
 * @param {string} [peer] whom the ratio is against
 */
export function printTable(results, peer = 'daisy-2.0.0') {
	const header = ['case', 'metric', 'implementation', 'value', 'unit', 'n', `ratio to ${peer}`];
	const rows = results.map((row) => {
		const other = results.find(
			({ case: name, metric, impl }) => name === row.case && metric === row.metric && impl === peer,
		);
		let ratio = '';
		if (other && other !== row && row.value > 0 && other.value > 0) {
			const faster = /\/s$/.test(row.unit) ? row.value / other.value : other.value / row.value;
			ratio = `${figure(faster)}x`;
		}
		return [row.case, row.metric, row.impl, figure(row.value), row.unit, String(row.n), ratio];
	});
	const widths = header.map((title, column) =>
		Math.max(title.length, ...rows.map((row) => row[column].length)),
	);
	const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
	console.log(line(header));
	console.log(line(widths.map((width) => '-'.repeat(width))));
	for (const row of rows) console.log(line(row));
}

/** Writes the shape that every benchmark shares. */
export function writeJson(file, results) {
	writeFileSync(file, `${JSON.stringify({ machine: machine(), results }, null, '\t')}\n`);
}
