import type { Options } from '../options.js';
import type { FinishedRun } from '../runs.js';
import { STYLE } from './style.js';

/** A picture on the page. */
export interface Figure {
	/** Name of the PNG file beside the page. */
	readonly file: string;
	readonly title: string;
	/** What the picture shows, for those who can't see it. */
	readonly alt: string;
	/** The file's bytes. */
	readonly png: Buffer;
	/** Width and height in pixels. */
	readonly width: number;
	readonly height: number;
}

/** A run and its two pictures. */
export interface RunFigures {
	readonly run: FinishedRun;
	readonly output: Figure;
	readonly grid: Figure;
}

/** The page with all pictures in it: one HTML file that needs no other. */
export function renderPage(
	options: Pick<Options, 'mode' | 'multiprocessing'>,
	inputs: readonly Figure[],
	runs: readonly RunFigures[],
): string {
	const processes = options.multiprocessing ? 'worker processes' : 'no worker processes';
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mutex watershed, tile by tile</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>Mutex watershed, tile by tile</h1>
<p>An image of 512 × 512 pixels, segmented in 16 blocks by bellis: <b>${options.mode}</b>, ${processes}. Four runs show what is remembered between runs, and what a function that fails on one tile does to the others.</p>
</header>
${renderTable(runs)}
<section aria-labelledby="input">
<h2 id="input">Input</h2>
<div class="figures three">
${inputs.map(renderFigure).join('\n')}
</div>
</section>
${runs.map(renderRun).join('\n')}
<footer><p>Each tile has labels of its own and nothing is stitched: a disc that crosses a border has another colour on each side, and what lies around the discs is a segment too. Black is not written; the red frame marks the tile on which the function of run 3 throws.</p></footer>
</main>
</body>
</html>
`;
}

function renderTable(runs: readonly RunFigures[]): string {
	const rows = runs.map(({ run }) => {
		const label = `<th scope="row">${escapeHtml(run.label)}</th>`;
		const done = `<td>${run.done.filter((cell) => cell === 1).length} of ${run.done.length}</td>`;
		if ('raised' in run.outcome) {
			return `<tr>${label}<td colspan="4" class="raised">${describeError(run.outcome.raised)}</td>${done}</tr>`;
		}
		const { executed, skipped, failed, elapsedMs } = run.outcome;
		const failedCell = failed > 0 ? `<td class="failed">${failed}</td>` : `<td>${failed}</td>`;
		return `<tr>${label}<td>${executed}</td><td>${skipped}</td>${failedCell}<td>${elapsedMs.toFixed(1)} ms</td>${done}</tr>`;
	});
	return `<div class="scroll"><table>
<caption>Blocks in each run</caption>
<thead><tr><th scope="col">run</th><th scope="col">executed</th><th scope="col">skipped</th><th scope="col">failed</th><th scope="col">elapsed</th><th scope="col">done after it</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>`;
}

function renderRun({ run, output, grid }: RunFigures, index: number): string {
	const id = `run-${index + 1}`;
	return `<section aria-labelledby="${id}">
<h2 id="${id}">Run ${escapeHtml(run.label)}</h2>
<p class="counts">${describeCounts(run)}</p>
<div class="figures two">
${renderFigure(output)}
${renderFigure(grid)}
</div>
</section>`;
}

function describeCounts({ outcome }: FinishedRun): string {
	if ('raised' in outcome) return `raised ${describeError(outcome.raised)}`;
	const { executed, skipped, failed } = outcome;
	return `executed <b>${executed}</b> · skipped <b>${skipped}</b> · failed <b>${failed}</b>`;
}

function describeError({ name, message }: Error): string {
	return `<code>${escapeHtml(`${name}: ${message}`)}</code>`;
}

function renderFigure({ title, alt, png, width, height, file }: Figure): string {
	const source = `data:image/png;base64,${png.toString('base64')}`;
	return `<figure>
<img src="${source}" alt="${escapeHtml(alt)}" width="${width}" height="${height}">
<figcaption>${escapeHtml(title)}<span>${escapeHtml(file)}</span></figcaption>
</figure>`;
}

function escapeHtml(text: string): string {
	const entities: Record<string, string> = {
		'&': '&amp;',
		'<': '&lt;',
		'>': '&gt;',
		'"': '&quot;',
	};
	return text.replace(/[&<>"]/g, (character) => entities[character]!);
}
