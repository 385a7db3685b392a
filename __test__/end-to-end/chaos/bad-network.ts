import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Dice } from './dice.js';

/** A port that leads to a run by way of a network that is slow, stalls and loses connections. */
export class BadNetwork {
	/** What the first worker sent, for those who want to send it again. */
	recorded: Buffer = Buffer.alloc(0);
	readonly #server: Server;
	readonly #lines = new Set<Line>();

	private constructor(target: number, dice: Dice) {
		let first = true;
		this.#server = createServer((worker) => {
			const line = new Line(worker, connect(target, '127.0.0.1'), dice.pick(3) * dice.pick(10));
			this.#lines.add(line);
			worker.on('close', () => this.#lines.delete(line));
			if (first) worker.on('data', (bytes) => this.#record(bytes));
			first = false;
		});
	}

	/** @param target the run's port */
	static async to(target: number, dice: Dice): Promise<BadNetwork> {
		const network = new BadNetwork(target, dice);
		network.#server.listen(0, '127.0.0.1');
		await once(network.#server, 'listening');
		return network;
	}

	get port(): number {
		return (this.#server.address() as AddressInfo).port;
	}

	/** Cuts a connection in both directions. False when there is none. */
	cut(dice: Dice): boolean {
		if (this.#lines.size === 0) return false;
		dice.of([...this.#lines]).cut();
		return true;
	}

	/** Lets nothing through on a connection for so long. False when there is none. */
	stall(dice: Dice, ms: number): boolean {
		if (this.#lines.size === 0) return false;
		dice.of([...this.#lines]).stall(ms);
		return true;
	}

	close(): void {
		this.#server.close();
		for (const line of this.#lines) line.cut();
	}

	#record(bytes: Buffer): void {
		if (this.recorded.length < 1 << 16) this.recorded = Buffer.concat([this.recorded, bytes]);
	}
}

/** One connection, whose bytes take their time. */
class Line {
	readonly #worker: Socket;
	readonly #run: Socket;
	readonly #delay: number;
	#open: Promise<void> = Promise.resolve();

	constructor(worker: Socket, run: Socket, delay: number) {
		this.#worker = worker;
		this.#run = run;
		this.#delay = delay;
		this.#pass(worker, run);
		this.#pass(run, worker);
	}

	cut(): void {
		this.#worker.destroy();
		this.#run.destroy();
	}

	stall(ms: number): void {
		this.#open = this.#open.then(() => wait(ms));
	}

	#pass(from: Socket, to: Socket): void {
		let order = Promise.resolve();
		const later = (act: () => void) => {
			order = order
				.then(() => (this.#delay > 0 ? wait(this.#delay) : undefined))
				.then(() => this.#open)
				.then(act);
		};
		from.setNoDelay(true);
		from.on('data', (bytes) => later(() => void (to.destroyed || to.write(bytes))));
		from.on('end', () => later(() => void to.end()));
		from.on('error', () => this.cut());
		from.on('close', () => later(() => this.cut()));
	}
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
