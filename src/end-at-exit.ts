/** What goes on until somebody ends it, and at the latest when the process exits. */
export class EndAtExit {
	readonly #handles = new Set<number>();
	readonly #end: (handle: number) => void;

	/** @param end ends what a handle stands for, at once */
	constructor(end: (handle: number) => void) {
		this.#end = end;
	}

	add(handle: number): void {
		if (this.#handles.size === 0) process.on('exit', this.#onExit);
		this.#handles.add(handle);
	}

	/** It has ended, or is ended by somebody else. */
	delete(handle: number): void {
		if (this.#handles.delete(handle) && this.#handles.size === 0) {
			process.off('exit', this.#onExit);
		}
	}

	readonly #onExit = (): void => {
		for (const handle of this.#handles) this.#end(handle);
	};
}
