import { connect, type Socket } from 'node:net';
import type { Dice } from './dice.js';

/** Peers that don't belong to a run: they send what no worker sends, or what one has sent before. */
export class Strangers {
	count = 0;
	readonly #sockets = new Set<Socket>();

	/** One more comes to the port. `recorded`: what some worker sent. */
	come(port: number, dice: Dice, recorded: Buffer): void {
		const bytes = dice.of([
			() => Buffer.from(Array.from({ length: dice.pick(3000) }, () => dice.pick(256))),
			() => Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
			// a whole session of another, its beginning, and one whose end is somebody else's
			() => recorded,
			() => recorded.subarray(0, dice.pick(recorded.length + 1)),
			() => Buffer.concat([recorded.subarray(0, dice.pick(200)), Buffer.alloc(dice.pick(5000), 7)]),
			// says nothing and stays
			() => Buffer.alloc(0),
		])();
		const socket = connect(port, '127.0.0.1');
		this.#sockets.add(socket);
		socket.on('error', () => {});
		socket.on('close', () => this.#sockets.delete(socket));
		if (dice.pick(2) > 0) socket.pause();
		else socket.resume();
		if (bytes.length > 0) socket.write(bytes);
		if (dice.pick(3) === 0) socket.end();
		this.count++;
	}

	leave(): void {
		for (const socket of this.#sockets) socket.destroy();
	}
}
