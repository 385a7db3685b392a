import { deserialize } from 'node:v8';
import { Block } from '../block.js';
import { BlockGeometry } from '../block-geometry.js';
import { Roi } from '../geometry/roi.js';
import type { NativeWelcome } from '../native.js';
import { clientConnect, clientProfileEnd, clientProfileStart } from '../native-client.js';
import { setProfiler } from '../profile-block.js';
import type { ClientQueue } from './client-queue.js';

/** What a connected worker knows about its task. */
export class WorkerTask {
	readonly welcome: NativeWelcome;
	readonly #geometry: BlockGeometry;
	readonly #queue: ClientQueue;

	constructor(queue: ClientQueue, welcome: NativeWelcome) {
		this.#queue = queue;
		this.welcome = welcome;
		const { spec } = welcome;
		this.#geometry = new BlockGeometry({
			taskId: spec.taskId,
			totalRoi: new Roi(spec.totalOffset, spec.totalShape),
			readRoi: new Roi(spec.readOffset, spec.readShape),
			writeRoi: new Roi(spec.writeOffset, spec.writeShape),
			fit: spec.fit,
		});
	}

	/** Connects; null when the driver is gone. */
	static async connect(queue: ClientQueue): Promise<WorkerTask | null> {
		const welcome = await clientConnect(queue.handle);
		return welcome && new WorkerTask(queue, welcome);
	}

	/** The task's `config`, as the driver had it; undefined when it had none. */
	config(): unknown {
		return this.welcome.config ? deserialize(this.welcome.config) : undefined;
	}

	/** The block at a row-major index. */
	blockOf(index: number): Block {
		const block = Block.at(this.#geometry, index);
		if (this.welcome.resourceTracking) {
			const { handle } = this.#queue;
			setProfiler(block, {
				start: () => clientProfileStart(handle, index),
				end: () => clientProfileEnd(handle, index),
			});
		}
		return block;
	}
}
