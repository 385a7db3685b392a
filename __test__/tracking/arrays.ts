import { FileSystemStore } from '@zarrita/storage';
import { get, open, root } from 'zarrita';

/** Names of a store's arrays with resource tracking, and their types. */
export const ARRAYS = {
	done: 'uint8',
	failures: 'uint32',
	wall_seconds: 'float32',
	cpu_seconds: 'float32',
	peak_rss_bytes: 'uint64',
	io_read_bytes: 'uint64',
	io_write_bytes: 'uint64',
	gpu_util_pct: 'float32',
	gpu_mem_bytes: 'uint64',
	worker_id: 'uint32',
	sent_at: 'float64',
	returned_at: 'float64',
} as const;

/** An array as another program reads it. */
export interface ReadArray {
	readonly dtype: string;
	readonly shape: readonly number[];
	readonly values: readonly number[];
}

/** Arrays of a store, read with zarrita. */
export async function readArrays(
	path: string,
	names: readonly string[] = Object.keys(ARRAYS),
): Promise<Record<string, ReadArray>> {
	const group = await open.v3(root(new FileSystemStore(path)), { kind: 'group' });
	const arrays: Record<string, ReadArray> = {};
	for (const name of names) {
		const array = await open.v3(group.resolve(name), { kind: 'array' });
		const { data } = (await get(array)) as { data: ArrayLike<number | bigint> };
		arrays[name] = {
			dtype: array.dtype,
			shape: array.shape,
			values: Array.from(data, Number),
		};
	}
	return arrays;
}

/** Attributes of a store's group, read with zarrita. */
export async function readAttributes(path: string): Promise<Record<string, unknown>> {
	return (await open.v3(root(new FileSystemStore(path)), { kind: 'group' })).attrs;
}
