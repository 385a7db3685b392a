// Draws the drain rate against the number of blocks, both axes logarithmic, as SVG.
import { drainInBatches, drainPlain, drainSingly, measureRust } from './drain-measures.js';
import { task3d } from './geometries.js';
import { measurePeer } from './peers/python.js';
import { median } from './results.js';

const sides = [5, 10, 20, 40, 70, 100];
const width = 720;
const height = 420;
const margin = { left: 80, right: 160, top: 30, bottom: 50 };
const colours = ['#6a4c93', '#1b6ca8', '#2a9d6f', '#c2771b', '#a83232'];

/** Measures 3-D tasks of growing size and gives the drawing's text. */
export async function drainPlot({ peers }) {
	const rust = await measureRust(
		3,
		sides.map((side) => `cube:${side}`),
	);
	const series = {
		'bellis, Rust core': (_, side) => median(rust[`cube:${side}`]),
		'bellis, batched': (task) => median([0, 1, 2].map(() => drainInBatches([task]))),
		'bellis, one by one': (task) => median([0, 1, 2].map(() => drainSingly([task]))),
		'plain JavaScript': async (task, side) =>
			side > 40 ? null : median(await drainPlain([task], 1)),
		'daisy 2.0.0': async (task, side) => {
			if (!peers || side > 40) return null;
			const { blocks, seconds } = await measurePeer('daisy-2.0.0', {
				what: 'drain',
				tasks: [task],
			});
			return blocks / seconds;
		},
	};
	const lines = [];
	for (const [name, rateOf] of Object.entries(series)) {
		const points = [];
		for (const side of sides) {
			const rate = await rateOf(task3d(side), side);
			if (rate) points.push([side ** 3, rate]);
		}
		lines.push({ name, points });
	}
	return draw(lines.filter(({ points }) => points.length > 0));
}

function draw(lines) {
	const all = lines.flatMap(({ points }) => points);
	const x = scale(
		all.map(([count]) => count),
		margin.left,
		width - margin.right,
	);
	const y = scale(
		all.map(([, rate]) => rate),
		height - margin.bottom,
		margin.top,
	);
	const parts = [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
		'<title>Blocks per second from the scheduler alone against the number of blocks</title>',
		`<rect width="${width}" height="${height}" fill="white"/>`,
		`<text x="${margin.left}" y="18" font-size="14">Blocks per second from the scheduler alone, 3-D with context</text>`,
	];
	for (const tick of y.ticks) {
		parts.push(
			`<line x1="${margin.left}" x2="${width - margin.right}" y1="${y.at(tick)}" y2="${y.at(tick)}" stroke="#ddd"/>`,
			`<text x="${margin.left - 8}" y="${y.at(tick) + 4}" text-anchor="end">${tick.toLocaleString('en-US')}</text>`,
		);
	}
	for (const tick of x.ticks) {
		parts.push(
			`<text x="${x.at(tick)}" y="${height - margin.bottom + 20}" text-anchor="middle">${tick.toLocaleString('en-US')}</text>`,
		);
	}
	parts.push(
		`<text x="${(width - margin.right + margin.left) / 2}" y="${height - 10}" text-anchor="middle">blocks</text>`,
	);
	lines.forEach(({ name, points }, i) => {
		const path = points.map(([count, rate]) => `${x.at(count)},${y.at(rate)}`).join(' ');
		parts.push(`<polyline points="${path}" fill="none" stroke="${colours[i]}" stroke-width="2"/>`);
		for (const [count, rate] of points) {
			parts.push(`<circle cx="${x.at(count)}" cy="${y.at(rate)}" r="3" fill="${colours[i]}"/>`);
		}
		const [, last] = points.at(-1);
		parts.push(
			`<text x="${x.at(points.at(-1)[0]) + 8}" y="${y.at(last) + 4}" fill="${colours[i]}">${name}</text>`,
		);
	});
	parts.push('</svg>', '');
	return parts.join('\n');
}

/** A logarithmic scale over whole decades. */
function scale(values, from, to) {
	const low = Math.floor(Math.log10(Math.min(...values)));
	const high = Math.ceil(Math.log10(Math.max(...values)));
	const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
	const at = (value) =>
		Math.round((from + ((Math.log10(value) - low) / (high - low)) * (to - from)) * 10) / 10;
	return { ticks, at };
}
