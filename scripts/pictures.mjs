// Makes the README's pictures from a real run on a pseudo-terminal: `node scripts/pictures.mjs`.
// Needs `script` of util-linux and what `npm run build` makes. What it prints differs from run to run, so no test compares it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import xterm from '@xterm/headless';
import { screenAsSvg } from './pictures/svg.mjs';
import { root, script } from './process.mjs';

const columns = 116;
const rows = 40;

script(async () => {
	const directory = realpathSync(mkdtempSync(join(tmpdir(), 'bellis-pictures-')));
	try {
		for (const name of ['pipeline.mjs', 'block.mjs']) {
			cpSync(join(root, 'scripts/pictures', name), join(directory, name));
		}
		mkdirSync(join(directory, 'node_modules'));
		symlinkSync(root, join(directory, 'node_modules/bellis'), 'dir');
		const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
		const command = `stty cols ${columns} rows ${rows} && exec "${process.execPath}" "${join(root, 'dist/cli/main.js')}" run pipeline.mjs`;
		const { CI, NO_COLOR, ...env } = process.env;
		const child = spawn('script', ['-qec', command, '/dev/null'], {
			cwd: directory,
			env: { ...env, TERM: 'xterm-256color' },
			stdio: ['pipe', 'pipe', 'inherit'],
		});
		let bars = null;
		for await (const chunk of child.stdout) {
			await new Promise((resolve) => terminal.write(chunk, resolve));
			// The first picture in which both tasks are well on their way.
			if (
				bars === null &&
				/ relabel|^relabel/m.test(textOf(terminal)) &&
				/ 4\d%/.test(textOf(terminal))
			)
				bars = linesOf(terminal);
		}
		if (child.exitCode === null) await once(child, 'close');
		const all = linesOf(terminal);
		const start = all.findIndex((line) => text(line).startsWith('Execution Summary'));
		if (bars === null || start < 0) throw new Error('the run showed no bars or no summary');
		mkdirSync(join(root, 'pictures'), { recursive: true });
		const save = (name, lines, title) =>
			writeFileSync(join(root, 'pictures', name), screenAsSvg(lines, title));
		save('bars.svg', bars, 'Progress bars of a run with two tasks');
		save(
			'summary.svg',
			withoutPath(all.slice(start), directory),
			'Execution summary and resource utilization of a run',
		);
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
});

/** Where the run was is of no interest. */
const withoutPath = (lines, directory) =>
	lines.map((line) =>
		line.map((one) => ({
			...one,
			characters: one.characters.replaceAll(directory, '/data'),
		})),
	);

const text = (line) => line.map(({ characters }) => characters).join('');
const textOf = (terminal) => linesOf(terminal).map(text).join('\n');

/** The lines of the terminal as runs of characters of one colour. */
function linesOf(terminal) {
	const { active } = terminal.buffer;
	const lines = [];
	for (let row = 0; row < active.length; row++) {
		const line = active.getLine(row);
		const runs = [];
		for (let column = 0; column < terminal.cols; column++) {
			const cell = line.getCell(column);
			const colour = cell.isFgPalette() ? cell.getFgColor() : null;
			const characters = cell.getChars() || ' ';
			if (runs.at(-1)?.colour === colour) runs.at(-1).characters += characters;
			else runs.push({ colour, characters });
		}
		runs.at(-1).characters = runs.at(-1).characters.trimEnd();
		lines.push(runs.filter((one) => one.characters !== ''));
	}
	while (lines.length > 0 && lines.at(-1).length === 0) lines.pop();
	return lines;
}
