import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { CONTEXT_VARIABLE, Context } from '../context.js';
import { isBellisError } from '../errors.js';
import { type LoadedFunction, loadFunction } from '../functions/load.js';
import {
	clientClose,
	clientEnd,
	clientFlush,
	clientNew,
	clientUnusable,
} from '../native-client.js';
import { runBlocks } from './block-loop.js';
import { ClientQueue } from './client-queue.js';
import { describeError } from './describe-error.js';
import { ExitWatch } from './exit-watch.js';
import { FUNCTION_VARIABLE, markAsWorker, type WorkerMark } from './marker.js';
import { WorkerTask } from './worker-task.js';

const FAILED = 1;
/** How long a worker that can't work may take to say so. */
const FLUSH_MS = 2000;

/**
 * What a worker process does: connect, load the user's function, run blocks until there are no more. Ends
 * the process.
 */
export async function runWorker(): Promise<void> {
	// an interrupt from a terminal is the driver's to handle; SIGTERM still ends the worker
	process.on('SIGINT', () => {});
	process.on('SIGHUP', () => {});
	process.setSourceMapsEnabled(true);
	// a block that awaits what never comes is the watchdog's business, not a reason to exit
	setInterval(() => {}, 2 ** 31 - 1);
	let watch: ExitWatch | undefined;
	let code: number;
	try {
		const context = Context.fromEnv();
		const mark = markAsWorker(context.taskId, context.toSecretText());
		hideSecret(context);
		watch = new ExitWatch(mark.queues);
		const given = process.env[FUNCTION_VARIABLE];
		code = given
			? await runWorkerFunction(context, mark, given)
			: await runBlockFunction(context, mark);
	} catch (error) {
		console.error(error);
		code = FAILED;
	}
	if (watch) watch.exit(code);
	else process.exit(code);
}

/** What user code starts inherits the environment: it gets the path of the secret, not the secret. */
function hideSecret(context: Context): void {
	const text = context.toPublicText();
	if (text !== null) process.env[CONTEXT_VARIABLE] = text;
}

async function runBlockFunction(plain: Context, mark: WorkerMark): Promise<number> {
	const queue = newQueue(plain);
	mark.queues.add(queue);
	const task = await connect(queue, plain);
	if (typeof task === 'number') return task;
	const context = plain.withConfig(task.config());
	let loaded: LoadedFunction;
	try {
		loaded = await loadModule(mark, task.welcome.functionReference);
	} catch (error) {
		return unusable(queue, error, true);
	}
	try {
		await loaded.setup?.(context);
	} catch (error) {
		return unusable(queue, error, false);
	}
	const { end, error } = await runBlocks(queue, {
		blockOf: (index) => task.blockOf(index),
		run: (block) => loaded.run(block, context),
		concurrency: task.welcome.concurrency,
		stopOnError: task.welcome.onBlockError === 'restart-worker',
	});
	if (error !== undefined) console.error(error);
	try {
		await loaded.teardown?.(context);
	} catch (thrown) {
		return unusable(queue, thrown, false);
	}
	mark.queues.delete(queue);
	await clientClose(queue.handle);
	return end === 'block-error' ? FAILED : 0;
}

async function runWorkerFunction(
	plain: Context,
	mark: WorkerMark,
	reference: string,
): Promise<number> {
	let context: Context;
	let loaded: LoadedFunction;
	// no other worker could load the module either
	let fatal = false;
	try {
		context = plain.withConfig(configOf(plain));
		fatal = true;
		loaded = await loadModule(mark, reference);
		fatal = false;
		await loaded.setup?.(context);
	} catch (error) {
		const queue = newQueue(plain);
		const task = await connect(queue, plain);
		return typeof task === 'number' ? task : unusable(queue, error, fatal);
	}
	try {
		await loaded.run(context);
		await loaded.teardown?.(context);
	} catch (error) {
		tellEnd(mark, error);
		throw error;
	}
	for (const queue of mark.queues) {
		for (const block of [...queue.inHand]) queue.fail(block, describeError(new LeftInHand()));
	}
	return 0;
}

/** What is said of a block that a worker function took and neither released nor failed. */
class LeftInHand extends Error {
	override name = 'LeftInHand';

	constructor() {
		super('the worker function ended with the block in hand: release it, or fail it');
		this.stack = undefined;
	}
}

/** Tells the driver what a worker function threw: it is about the block in hand, where there is one. */
function tellEnd({ queues }: WorkerMark, error: unknown): void {
	for (const queue of queues) {
		const [block, ...others] = queue.inHand;
		if (block === undefined) clientUnusable(queue.handle, false, describeError(error));
		// none of several can be blamed
		else if (others.length === 0) queue.fail(block, describeError(error));
	}
}

/** The task's config for a function that makes its own client: there is no connection yet that could bring it. */
function configOf({ configFile }: Context): unknown {
	return configFile === null ? undefined : deserialize(readFileSync(configFile));
}

async function loadModule(mark: WorkerMark, reference: string): Promise<LoadedFunction> {
	let loaded: LoadedFunction;
	try {
		loaded = await loadFunction(reference);
	} catch (error) {
		throw mark.nestedRun ?? error;
	} finally {
		mark.loading = false;
	}
	if (mark.nestedRun) throw mark.nestedRun;
	return loaded;
}

/** Tells the driver that this worker can't work; `fatal`: nor could any other. */
function unusable(queue: ClientQueue, error: unknown, fatal: boolean): number {
	console.error(error);
	clientUnusable(queue.handle, fatal, describeError(error));
	clientFlush(queue.handle, FLUSH_MS);
	return FAILED;
}

function newQueue(context: Context): ClientQueue {
	return new ClientQueue(clientNew({ context: context.toSecretText(), exitWhenGone: true }));
}

/** The worker's task, or the code to exit with when there is no driver for it. */
async function connect(queue: ClientQueue, context: Context): Promise<WorkerTask | number> {
	let problem = 'there is no driver';
	try {
		const task = await WorkerTask.connect(queue);
		if (task) return task;
	} catch (error) {
		if (!isBellisError(error, 'ERR_BELLIS_CONNECTION')) throw error;
		problem = error.message;
	}
	const end = clientEnd(queue.handle);
	if (end === null) {
		const name = context.workerId === null ? 'a worker' : `worker ${context.workerId}`;
		console.error(`bellis: ${name} of task '${context.taskId}': ${problem}`);
		return 0;
	}
	// One that comes when all is done has nothing to tell. For any other the client's own thread is just about to say
	// why and to end the process: said here as well, it would be said twice at once.
	if (!end.sentHome) await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
	return end.exitCode;
}
