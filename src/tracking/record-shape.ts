/** What a value of JSON looks like. A list is of one shape, `'*'` stands for every key, and `?` allows null. */
type Shape = 'number' | 'number?' | 'text' | 'text?' | readonly [Shape] | ObjectShape;

interface ObjectShape {
	readonly [key: string]: Shape;
}

const distribution = { count: 'number', mean: 'number?', std: 'number?', sum: 'number?' } as const;
const corners = { begin: ['number'], end: ['number'] } as const;

/** A failure in a line of `runs.jsonl`, without what may be null. */
const failure = {
	worker_id: 'number?',
	attempt: 'number',
	name: 'text',
	message: 'text',
	stack: 'text',
} as const;

/** A line of `runs.jsonl`, without what may be null or missing as a whole. */
const recordShape = {
	run_id: 'text',
	task_id: 'text',
	started_at: 'number',
	finished_at: 'number',
	wall_seconds: 'number',
	interrupted: 'text?',
	abandon_reason: 'text?',
	timeout_ms: 'number',
	round_trip: distribution,
	blocks: {
		total: 'number',
		completed: 'number',
		skipped: 'number',
		failed: 'number',
		orphaned: 'number',
		failed_attempts: 'number',
		timeouts: 'number',
		check_errors: 'number',
	},
	workers: {
		starts: 'number',
		restarts: 'number',
		failures: 'number',
		startup: distribution,
		idle: distribution,
		compute: distribution,
		teardown: distribution,
		exits: { clean: 'number', error: 'number', running: 'number' },
		by_id: {
			'*': {
				startup: 'number?',
				blocks: 'number',
				idle: distribution,
				compute: distribution,
				teardown: 'number?',
				exit: 'text',
				exit_reason: 'text',
			},
		},
	},
} as const satisfies Shape;

const resourcesShape = {
	wall_seconds: distribution,
	cpu_seconds: distribution,
	peak_rss_bytes: distribution,
	io_read_bytes: distribution,
	io_write_bytes: distribution,
	max_peak_rss_bytes: 'number',
	notes: ['text'],
} as const satisfies Shape;

const blockShape = { id: 'text', index: ['number'], writes: corners } as const satisfies Shape;

/** Whether a value of JSON is a line of `runs.jsonl` that can be shown, whoever wrote it. */
export function isRunRecord(value: unknown): boolean {
	if (!matches(value, recordShape)) return false;
	const { format, resources, failures } = value as Record<string, unknown>;
	return (
		format === 1 &&
		(resources === null || matches(resources, resourcesShape)) &&
		(failures === undefined || (Array.isArray(failures) && failures.every(isFailure)))
	);
}

function isFailure(value: unknown): boolean {
	if (!matches(value, failure)) return false;
	const { block } = value as { block?: unknown };
	return block === null || matches(block, blockShape);
}

function matches(value: unknown, shape: Shape): boolean {
	if (shape === 'number' || shape === 'number?') {
		return typeof value === 'number' || (value === null && shape === 'number?');
	}
	if (shape === 'text' || shape === 'text?') {
		return typeof value === 'string' || (value === null && shape === 'text?');
	}
	if (isList(shape)) {
		return Array.isArray(value) && value.every((one) => matches(one, shape[0]));
	}
	if (typeof value !== 'object' || value === null) return false;
	const fields = value as Record<string, unknown>;
	return Object.entries(shape).every(([key, of]) =>
		key === '*'
			? Object.values(fields).every((one) => matches(one, of))
			: Object.hasOwn(fields, key) && matches(fields[key], of),
	);
}

function isList(shape: Shape): shape is readonly [Shape] {
	return Array.isArray(shape);
}
