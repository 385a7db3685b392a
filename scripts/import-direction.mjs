// Imports run one way: this fails on an import that goes up a layer, and on any importer of the binding but one.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './process.mjs';

/**
 * What each part of `src` may not import, and why. The first pattern matches the importing file, the second the imported.
 */
const rules = [
	{ from: /^(?!native\.ts$)/, to: /binding\.c/, why: 'only src/native.ts imports the binding' },
	{ from: /^(?!cli\/)/, to: /^index\.ts$/, why: 'only the CLI imports the public index' },
	{ from: /^(?!cli\/)/, to: /^cli\//, why: 'nothing imports the CLI' },
	{
		from: /^geometry\//,
		to: /^(?!geometry\/|(errors|show-value)\.ts$)/,
		why: 'geometry stands on errors and their texts only',
	},
	{
		from: /^report\//,
		to: /^(run|worker|launchers|task|client)\b/,
		why: 'reports see plain data only',
	},
	{ from: /^progress\//, to: /^(run|worker|launchers)\b/, why: 'progress sees plain events only' },
	{
		from: /^(task|pipeline|block|functions)\b/,
		to: /^(run|worker|cli)\b|^launchers\/(?!launcher\.ts$)/,
		why: 'tasks know nothing of runs',
	},
	{ from: /^launchers\//, to: /^(run|worker|task)\b/, why: 'launchers know contexts only' },
	{
		from: /^worker\//,
		to: /^(run|cli|report|progress)\b/,
		why: 'a worker imports the least it can',
	},
	{ from: /^errors\.ts$/, to: /^/, why: 'errors stand alone' },
];

const src = join(root, 'src');
const sources = readdirSync(src, { recursive: true })
	.map((name) => name.replaceAll('\\', '/'))
	.filter((name) => name.endsWith('.ts'));

const edges = new Map();
const problems = [];
for (const file of sources) {
	const text = readFileSync(join(src, file), 'utf8');
	const targets = [];
	const imports = text.matchAll(
		/^\s*(?:import|export)\s+(type\s+)?[^'"]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'/gm,
	);
	for (const [, typeOnly, named, bare] of imports) {
		const specifier = named ?? bare;
		if (!specifier.startsWith('.')) continue;
		const target = relative(src, resolve(src, dirname(file), specifier))
			.replaceAll('\\', '/')
			.replace(/\.js$/, '.ts');
		if (!typeOnly) targets.push(target);
		for (const rule of rules) {
			if (rule.from.test(file) && rule.to.test(target))
				problems.push(`src/${file} imports ${target}: ${rule.why}`);
		}
	}
	edges.set(file, targets);
}

const finished = new Set();
function findCycle(file, trail) {
	if (trail.includes(file)) {
		problems.push(`import cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' -> ')}`);
		return;
	}
	if (finished.has(file)) return;
	for (const target of edges.get(file) ?? []) findCycle(target, [...trail, file]);
	finished.add(file);
}
for (const file of sources) findCycle(file, []);

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`import direction: ${sources.length} files, no import goes up a layer`);
