import test from 'ava';
import {
	hasLoader,
	inheritedFlags,
	joinNodeOptions,
	splitNodeOptions,
} from '../../src/launchers/exec-argv.js';

test('workers inherit preloads, loaders, conditions, the heap size, source maps and type stripping', (t) => {
	const argv = [
		'--import=tsx',
		'--import',
		'./hook.mjs',
		'-r',
		'./pre.cjs',
		'--require=./other.cjs',
		'--experimental-loader',
		'./loader.mjs',
		'-C',
		'development',
		'--conditions=source',
		'--max-old-space-size=4096',
		'--max_old_space_size',
		'512',
		'--enable-source-maps',
		'--experimental-strip-types',
	];
	t.deepEqual(inheritedFlags(argv), argv);
});

test('flags that inspect, watch, test, evaluate or profile stay with the driver, their values too', (t) => {
	t.deepEqual(
		inheritedFlags([
			'--inspect',
			'--inspect-brk=9230',
			'--watch',
			'--watch-path',
			'./src',
			'--test',
			'--test-name-pattern',
			'worker',
			'--import=tsx',
			'-e',
			'runBlockwise()',
			'--cpu-prof',
			'--cpu-prof-dir',
			'./prof',
			'--title=driver',
			'--expose-gc',
			'-r',
			'./pre.cjs',
		]),
		['--import=tsx', '-r', './pre.cjs'],
	);
});

test('NODE_OPTIONS are split as Node splits them, and put together again', (t) => {
	const value = '--import=tsx  --require "./my \\"odd\\" folder/pre.cjs" --max-old-space-size=64';
	const options = splitNodeOptions(value);
	t.deepEqual(options, [
		'--import=tsx',
		'--require',
		'./my "odd" folder/pre.cjs',
		'--max-old-space-size=64',
	]);
	t.deepEqual(splitNodeOptions(joinNodeOptions(options)), options);
	t.deepEqual(splitNodeOptions(''), []);
});

test('a preload may be a loader of TypeScript, other flags are none', (t) => {
	t.true(hasLoader(['--import=tsx']));
	t.true(hasLoader(['--experimental-strip-types']));
	t.false(hasLoader(['--enable-source-maps', '--max-old-space-size=64']));
});
