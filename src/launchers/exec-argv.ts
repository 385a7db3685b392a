/**
 * Which of Node's flags a worker inherits. An allow-list: a flag that inspects, watches, tests, evaluates
 * or profiles the driver has no business in its workers.
 */

/** Flags whose value may be the next argument. */
const WITH_VALUE = new Set([
	'--import',
	'--require',
	'-r',
	'--loader',
	'--experimental-loader',
	'--conditions',
	'-C',
	'--max-old-space-size',
]);

/** Flags without a value. */
const PLAIN = new Set([
	'--enable-source-maps',
	'--no-enable-source-maps',
	'--strip-types',
	'--no-strip-types',
	'--experimental-strip-types',
	'--no-experimental-strip-types',
	'--experimental-transform-types',
]);

/** Other flags of Node that take their value as the next argument: it must be dropped with them. */
const DROPPED_WITH_VALUE = new Set([
	'-e',
	'--eval',
	'-p',
	'--print',
	'-pe',
	'--env-file',
	'--inspect-port',
	'--debug-port',
	'--test-name-pattern',
	'--test-skip-pattern',
	'--test-reporter',
	'--test-reporter-destination',
	'--watch-path',
	'--cpu-prof-dir',
	'--cpu-prof-name',
	'--cpu-prof-interval',
	'--heap-prof-dir',
	'--heap-prof-name',
	'--heap-prof-interval',
	'--diagnostic-dir',
	'--title',
	'--input-type',
	'--icu-data-dir',
	'--redirect-warnings',
	'--disable-warning',
	'--trace-event-categories',
]);

/** The flags of `argv` that a worker inherits, in their order. */
export function inheritedFlags(argv: readonly string[]): string[] {
	const kept: string[] = [];
	for (let index = 0; index < argv.length; index++) {
		const argument = argv[index]!;
		const equals = argument.indexOf('=');
		const written = equals < 0 ? argument : argument.slice(0, equals);
		// V8 and Node take underscores for dashes inside a name
		const name = written.startsWith('--') ? `--${written.slice(2).replaceAll('_', '-')}` : written;
		const inline = equals >= 0;
		if (WITH_VALUE.has(name)) {
			kept.push(argument);
			if (!inline && index + 1 < argv.length) kept.push(argv[++index]!);
		} else if (PLAIN.has(name)) {
			kept.push(argument);
		} else if (DROPPED_WITH_VALUE.has(name) && !inline) {
			index++;
		}
	}
	return kept;
}

/** Splits a `NODE_OPTIONS` value as Node does: blanks separate, double quotes group, `\` escapes inside them. */
export function splitNodeOptions(value: string): string[] {
	const options: string[] = [];
	let current = '';
	let quoted = false;
	let started = false;
	for (let index = 0; index < value.length; index++) {
		let character = value[index]!;
		if (character === '\\' && quoted && index + 1 < value.length) {
			character = value[++index]!;
		} else if (character === ' ' && !quoted) {
			if (started) options.push(current);
			current = '';
			started = false;
			continue;
		} else if (character === '"') {
			quoted = !quoted;
			started = true;
			continue;
		}
		current += character;
		started = true;
	}
	if (started) options.push(current);
	return options;
}

/** The `NODE_OPTIONS` value that holds `options`: the reverse of {@link splitNodeOptions}. */
export function joinNodeOptions(options: readonly string[]): string {
	return options
		.map((option) =>
			/[ "\\]/.test(option) || option === '' ? `"${option.replace(/["\\]/g, '\\$&')}"` : option,
		)
		.join(' ');
}

/**
 * Whether flags like these give Node something that can load TypeScript. A preload may be such a
 * thing or not; it gets the benefit of the doubt.
 */
export function hasLoader(argv: readonly string[]): boolean {
	return argv.some((argument) =>
		/^(--import|--require|-r|--loader|--experimental-loader|--strip-types|--experimental-strip-types|--experimental-transform-types)(=|$)/.test(
			argument,
		),
	);
}
