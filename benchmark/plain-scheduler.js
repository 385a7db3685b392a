// What one would write by hand in plain JavaScript: every block an object, every dependency an array entry.

/**
 * @typedef {object} TaskGeometry
 * @property {string} taskId
 * @property {[number[], number[]]} total offset and shape of the total read region
 * @property {[number[], number[]]} read the block template
 * @property {[number[], number[]]} write
 * @property {boolean} [conflict] default true
 */

/** A scheduler over explicit block objects, for fit `valid`. */
export class PlainScheduler {
	/** @param {TaskGeometry[]} tasks a chain, first task first */
	constructor(tasks) {
		this.tasks = new Map();
		let previous;
		for (const task of tasks) {
			const blocks = makeBlocks(task);
			if (task.conflict ?? true) linkConflicts(task, blocks);
			if (previous) linkChain(previous, blocks);
			this.tasks.set(task.taskId, {
				ready: blocks.filter(({ waiting }) => waiting === 0),
				next: 0,
			});
			previous = blocks;
		}
	}

	/** The next ready block of a task, or null. */
	acquire(taskId) {
		const task = this.tasks.get(taskId);
		return task.next < task.ready.length ? task.ready[task.next++] : null;
	}

	/** Ends a block and makes ready what waited for it alone. */
	release(block) {
		block.status = 'success';
		for (const dependent of block.dependents) {
			dependent.waiting--;
			if (dependent.waiting === 0) this.tasks.get(dependent.taskId).ready.push(dependent);
		}
	}
}

function context(task) {
	return task.read[1].map((size, axis) => {
		const lower = task.write[0][axis] - task.read[0][axis];
		return { lower, upper: size - task.write[1][axis] - lower };
	});
}

function makeBlocks(task) {
	const margins = context(task);
	const counts = margins.map(({ lower, upper }, axis) =>
		Math.floor((task.total[1][axis] - lower - upper) / task.write[1][axis]),
	);
	const blocks = [];
	const position = counts.map(() => 0);
	const size = counts.reduce((product, count) => product * count, 1);
	for (let n = 0; n < size; n++) {
		const begin = position.map(
			(p, axis) => task.total[0][axis] + margins[axis].lower + p * task.write[1][axis],
		);
		blocks.push({
			taskId: task.taskId,
			index: [...position],
			write: { begin, end: begin.map((b, axis) => b + task.write[1][axis]) },
			read: {
				begin: begin.map((b, axis) => b - margins[axis].lower),
				end: begin.map((b, axis) => b + task.write[1][axis] + margins[axis].upper),
			},
			waiting: 0,
			dependents: [],
			status: 'created',
		});
		for (let axis = counts.length - 1; axis >= 0; axis--) {
			if (++position[axis] < counts[axis]) break;
			position[axis] = 0;
		}
	}
	return blocks;
}

const meets = (a, b) =>
	a.begin.every((begin, axis) => begin < b.end[axis] && b.begin[axis] < a.end[axis]);

/** Orders any two blocks of which one writes what the other reads: by parity first, then by position. */
function linkConflicts(task, blocks) {
	const byPosition = new Map(blocks.map((block) => [block.index.join(), block]));
	const reach = context(task).map(({ lower, upper }, axis) =>
		Math.ceil(Math.max(lower, upper) / task.write[1][axis]),
	);
	const colour = (block) =>
		block.index.reduce((sum, p, axis) => sum * (reach[axis] + 1) + (p % (reach[axis] + 1)), 0);
	for (const block of blocks) {
		for (const offset of offsets(reach)) {
			const other = byPosition.get(block.index.map((p, axis) => p + offset[axis]).join());
			if (other && colour(other) < colour(block) && meets(other.write, block.read)) {
				other.dependents.push(block);
				block.waiting++;
			}
		}
	}
}

function offsets(reach) {
	let found = [[]];
	for (const distance of reach) {
		const wider = [];
		for (const start of found) {
			for (let d = -distance; d <= distance; d++) wider.push([...start, d]);
		}
		found = wider;
	}
	return found;
}

/** For tasks of one block size, a downstream block waits for the upstream blocks around it. */
function linkChain(upstream, downstream) {
	const size = upstream[0].write.end.map((end, axis) => end - upstream[0].write.begin[axis]);
	const origin = upstream[0].write.begin;
	const byPosition = new Map(upstream.map((block) => [block.index.join(), block]));
	for (const block of downstream) {
		const first = block.read.begin.map((b, axis) => Math.floor((b - origin[axis]) / size[axis]));
		const last = block.read.end.map((e, axis) => Math.ceil((e - origin[axis]) / size[axis]) - 1);
		for (const offset of boxes(first, last)) {
			const other = byPosition.get(offset.join());
			if (other && meets(other.write, block.read)) {
				other.dependents.push(block);
				block.waiting++;
			}
		}
	}
}

function boxes(first, last) {
	let found = [[]];
	first.forEach((from, axis) => {
		const wider = [];
		for (const start of found) {
			for (let p = from; p <= last[axis]; p++) wider.push([...start, p]);
		}
		found = wider;
	});
	return found;
}
