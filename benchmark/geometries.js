// The geometries that several benchmarks share.

const cube = (value) => [value, value, value];

/** A 3-D task: `side` blocks an axis, 10 voxels a block, 2 of context on each side, with conflicts. */
export function task3d(side, taskId = 't') {
	return {
		taskId,
		total: [cube(0), cube(10 * side + 4)],
		read: [cube(0), cube(14)],
		write: [cube(2), cube(10)],
		conflict: true,
	};
}

/** A 1-D task of blocks of 10 voxels without context and without conflicts. */
export function task1d(blocks, taskId = 't') {
	return {
		taskId,
		total: [[0], [10 * blocks]],
		read: [[0], [10]],
		write: [[0], [10]],
		conflict: false,
	};
}

/** Two 3-D tasks without conflicts, the second reading 2 voxels around what the first writes. */
export function chain3d(side) {
	return [
		{
			taskId: 'a',
			total: [cube(0), cube(10 * side)],
			read: [cube(0), cube(10)],
			write: [cube(0), cube(10)],
			conflict: false,
		},
		{ ...task3d(side, 'b'), total: [cube(-2), cube(10 * side + 4)], conflict: false },
	];
}
