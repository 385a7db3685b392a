import { ConnectionError, ValidationError } from './errors.js';
import { showValue } from './show-value.js';

/** The environment variable that tells a worker where its driver is. */
export const CONTEXT_VARIABLE = 'BELLIS_CONTEXT';

/** @internal What the driver tells a worker. */
export interface ContextFields {
	hostname: string;
	port: number;
	taskId: string;
	/** Null for a worker that has no number. */
	workerId: number | null;
	logDir: string | null;
	resourceTracking: boolean;
	/** What tells the driver's machine from others. */
	machine: string | null;
	/** The run's secret in hexadecimal; null where it stands in the connection file. */
	secret: string | null;
	/** Path of a file that only its owner can read, with the run's secret in it. */
	connectionFile: string | null;
	/** Folder in which workers of the driver's machine write down what they do; absent or null for none. */
	notesFolder?: string | null;
	/** Path of a file with the task's `config`, for workers that make their own client; null when there is none. */
	configFile?: string | null;
	/** The task's `config`, once the worker has it. */
	config?: unknown;
}

/** Who a worker is and where its driver can be reached. */
export class Context {
	/** Address of the driver. */
	readonly hostname: string;
	/** TCP port that the driver listens on. */
	readonly port: number;
	/** The task that the worker runs blocks of. */
	readonly taskId: string;
	/** Number of the worker in the run; null for one that was started by hand. */
	readonly workerId: number | null;
	/** Directory of the log files, or null when there are none. */
	readonly logDir: string | null;
	/** Whether each block is measured. */
	readonly resourceTracking: boolean;
	/**
	 * The task's `config`. Functions of the task always get it; a context that was read from the environment
	 * has it once its client is connected, and is undefined before.
	 */
	readonly config: unknown;
	readonly #machine: string | null;
	readonly #secret: string | null;
	readonly #connectionFile: string | null;
	readonly #notesFolder: string | null;
	readonly #configFile: string | null;

	private constructor(fields: ContextFields) {
		this.hostname = fields.hostname;
		this.port = fields.port;
		this.taskId = fields.taskId;
		this.workerId = fields.workerId;
		this.logDir = fields.logDir;
		this.resourceTracking = fields.resourceTracking;
		this.config = fields.config;
		this.#machine = fields.machine;
		this.#secret = fields.secret;
		this.#connectionFile = fields.connectionFile;
		this.#notesFolder = fields.notesFolder ?? null;
		this.#configFile = fields.configFile ?? null;
		Object.freeze(this);
	}

	/**
	 * Reads the context from an environment, by default that of this process.
	 *
	 * @throws ValidationError when the variable is missing or can't be read
	 */
	static fromEnv(env: Readonly<Record<string, string | undefined>> = process.env): Context {
		const text = env[CONTEXT_VARIABLE];
		if (text === undefined || text === '') {
			throw new ValidationError(
				`the environment variable ${CONTEXT_VARIABLE} is missing: bellis sets it for the workers that it starts; for one started by hand pass on what context.toEnv() gives`,
				{ path: CONTEXT_VARIABLE, value: text },
			);
		}
		return Context.parse(text);
	}

	/** Reads the text of a context: `key=value` joined by `:`, in which `%`, `:` and `=` are percent-encoded. */
	static parse(text: string): Context {
		const values = new Map<string, string>();
		for (const token of text.split(':')) {
			if (token === '') continue;
			const equals = token.indexOf('=');
			if (equals < 0) throw badContext('has a part without "="');
			values.set(decode(token.slice(0, equals)), decode(token.slice(equals + 1)));
		}
		const need = (key: string) => {
			const value = values.get(key);
			if (value === undefined || value === '') throw badContext(`has no ${key}`);
			return value;
		};
		const maybe = (key: string) => values.get(key) || null;
		const secret = maybe('secret');
		const connectionFile = maybe('secret_file');
		if (secret === null && connectionFile === null) {
			throw badContext('has neither secret nor secret_file');
		}
		const workerId = maybe('worker_id');
		return new Context({
			hostname: need('hostname'),
			port: readNumber('port', need('port'), 1, 65535),
			taskId: need('task_id'),
			workerId: workerId === null ? null : readNumber('worker_id', workerId, 0, 2 ** 32 - 2),
			logDir: maybe('logdir'),
			resourceTracking: ['1', 'true', 'True'].includes(values.get('resource_tracking') ?? ''),
			machine: maybe('machine'),
			secret,
			connectionFile,
			notesFolder: maybe('notes'),
			configFile: maybe('config_file'),
		});
	}

	/**
	 * The environment variables with which another process, such as a cluster job, becomes a worker of
	 * this run. They hold no secret but the path of a file that only its owner can read.
	 */
	toEnv(): { BELLIS_CONTEXT: string } {
		if (this.#connectionFile === null) {
			throw new ConnectionError('this context has no connection file to pass on', {
				hostname: this.hostname,
				port: this.port,
			});
		}
		return { BELLIS_CONTEXT: this.#format(false) };
	}

	/** The context without its secret and `config`, as plain data. */
	toJSON(): Record<string, unknown> {
		const { hostname, port, taskId, workerId, logDir, resourceTracking } = this;
		return { hostname, port, taskId, workerId, logDir, resourceTracking };
	}

	/** @internal */
	static of(fields: ContextFields): Context {
		return new Context(fields);
	}

	/** @internal The same with the task's config. */
	withConfig(config: unknown): Context {
		return new Context({
			...(this.toJSON() as unknown as ContextFields),
			machine: this.#machine,
			secret: this.#secret,
			connectionFile: this.#connectionFile,
			notesFolder: this.#notesFolder,
			configFile: this.#configFile,
			config,
		});
	}

	/** @internal For the native client and for a direct child, whose environment only its owner can read. */
	toSecretText(): string {
		return this.#format(true);
	}

	/** @internal What of {@link toSecretText} may stand in the environment of others; null for nothing. */
	toPublicText(): string | null {
		return this.#connectionFile === null ? null : this.#format(false);
	}

	/** @internal What tells the driver's machine from others; null when unknown. */
	get machine(): string | null {
		return this.#machine;
	}

	/** @internal A file with the task's serialized config; null when there is none. */
	get configFile(): string | null {
		return this.#configFile;
	}

	#format(withSecret: boolean): string {
		const pairs: [string, string | number | null][] = [
			['hostname', this.hostname],
			['port', this.port],
			// readers take the last of the two
			['secret_file', this.#connectionFile],
			['secret', withSecret ? this.#secret : null],
			['config_file', this.#configFile],
			['machine', this.#machine],
			['task_id', this.taskId],
			['worker_id', this.workerId],
			['logdir', this.logDir ?? ''],
			['resource_tracking', this.resourceTracking ? 1 : 0],
			['notes', withSecret ? this.#notesFolder : null],
		];
		return pairs
			.filter(([, value]) => value !== null)
			.map(([key, value]) => `${key}=${encode(String(value))}`)
			.join(':');
	}
}

function encode(text: string): string {
	return text.replace(/[%:=]/g, (character) => ESCAPES[character]!);
}

function decode(text: string): string {
	return text.replace(/%(25|3A|3D)/gi, (code) => CHARACTERS[code.toUpperCase()]!);
}

const ESCAPES: Record<string, string> = { '%': '%25', ':': '%3A', '=': '%3D' };
const CHARACTERS: Record<string, string> = { '%25': '%', '%3A': ':', '%3D': '=' };

function readNumber(key: string, text: string, min: number, max: number): number {
	const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
	if (!(value >= min && value <= max)) {
		throw badContext(`has a ${key} that is no integer from ${min} to ${max}: ${showValue(text)}`);
	}
	return value;
}

function badContext(problem: string): ValidationError {
	// the text may hold a secret, so the message doesn't repeat it
	return new ValidationError(`${CONTEXT_VARIABLE} ${problem}`, { path: CONTEXT_VARIABLE });
}
