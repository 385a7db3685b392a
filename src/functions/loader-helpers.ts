/**
 * Loaders and coverage tools put calls of their own helpers into functions. Such a name isn't the
 * user's, so the worker gets a stand-in for it.
 */

/** Any property, call and count of it is another one of its kind. */
function silentCounter(): unknown {
	const counter: object = new Proxy(() => 0, {
		get: (_, key) => (key === Symbol.toPrimitive ? () => 0 : counter),
		set: () => true,
		apply: () => counter,
	});
	return counter;
}

const HELPERS: readonly [name: RegExp, standIn: () => unknown][] = [
	// esbuild and tsx, to keep the names of functions
	[
		/^__name$/,
		() => (target: object, value: string) =>
			Object.defineProperty(target, 'name', { value, configurable: true }),
	],
	// esbuild, for class fields
	[
		/^__publicField$/,
		() => (target: object, key: PropertyKey, value: unknown) =>
			Object.defineProperty(target, key, {
				value,
				enumerable: true,
				configurable: true,
				writable: true,
			}),
	],
	// istanbul's counters
	[/^cov_[a-z0-9]+$/, silentCounter],
];

/** Whether a name is that of a loader's helper. */
export function isLoaderHelper(name: string): boolean {
	return HELPERS.some(([pattern]) => pattern.test(name));
}

/** What stands for a loader's helper in a worker. */
export function loaderHelper(name: string): unknown {
	return HELPERS.find(([pattern]) => pattern.test(name))?.[1]();
}
