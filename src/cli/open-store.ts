import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isBellisError } from '../errors.js';
import { TrackingStore } from '../index.js';
import { UsageError } from './usage-error.js';

/**
 * Opens a tracking store.
 *
 * @throws UsageError in one line where there is none; it names the stores below if there are some
 */
export async function openStore(path: string): Promise<TrackingStore> {
	const [store, ...more] = await openStores(path);
	if (store && more.length === 0 && store.path === resolve(path)) return store;
	const paths = [store, ...more].map((below) => below?.path).join(', ');
	throw new UsageError(`${path} is not a tracking store itself; the stores in it are ${paths}`);
}

/**
 * The store in a directory, or the stores in its folders: a tracking directory has one a task.
 *
 * @throws UsageError in one line where there is none
 */
export async function openStores(path: string): Promise<TrackingStore[]> {
	try {
		return [await TrackingStore.open(path)];
	} catch (error) {
		if (!isBellisError(error, 'ERR_BELLIS_STORE')) throw error;
		const below = await storesBelow(path);
		if (below.length > 0) return below;
		// What follows the first line is advice for runs.
		const [line = ''] = error.message.split('\n', 1);
		throw new UsageError(line);
	}
}

async function storesBelow(path: string): Promise<TrackingStore[]> {
	const stores: TrackingStore[] = [];
	for (const name of foldersIn(path)) {
		try {
			stores.push(await TrackingStore.open(join(path, name)));
		} catch (error) {
			if (!isBellisError(error)) throw error;
		}
	}
	return stores;
}

function foldersIn(path: string): string[] {
	try {
		return readdirSync(path)
			.filter((name) => statSync(join(path, name)).isDirectory())
			.sort();
	} catch {
		return [];
	}
}
