/**
 * Disjoint clusters of which some pairs exclude each other: a union-find forest, and for each root
 * the roots it must never be joined with.
 *
 * Joining costs the smaller of the two exclusion sets, so n elements and m exclusions take
 * O((n + m) log) steps in all.
 */
export class ExclusiveClusters {
	readonly #parent: Uint32Array;
	/** For a root: the roots it excludes. Kept symmetric. */
	readonly #excluded = new Map<number, Set<number>>();

	/** Starts with each of the elements 0 to `size` - 1 in a cluster of its own. */
	constructor(size: number) {
		this.#parent = Uint32Array.from({ length: size }, (_, element) => element);
	}

	/** The root of the element's cluster. It may change when clusters are joined. */
	find(element: number): number {
		const parent = this.#parent;
		let node = element;
		let above = parent[node]!;
		while (above !== node) {
			// Path halving: each step also hangs the node under its grandparent.
			const grandparent = parent[above]!;
			parent[node] = grandparent;
			node = grandparent;
			above = parent[node]!;
		}
		return node;
	}

	/** Joins the clusters of two elements; does nothing when they exclude each other. */
	join(a: number, b: number): void {
		const [first, second] = [this.find(a), this.find(b)];
		if (first === second || this.#excludes(first, second)) return;
		const [root, joined] =
			this.#exclusions(first) < this.#exclusions(second) ? [second, first] : [first, second];
		this.#parent[joined] = root;
		for (const other of this.#excluded.get(joined) ?? []) {
			this.#excluded.get(other)?.delete(joined);
			this.#setExcluded(root, other);
		}
		this.#excluded.delete(joined);
	}

	/** Keeps the clusters of two elements apart for good; does nothing when they are one already. */
	exclude(a: number, b: number): void {
		const [first, second] = [this.find(a), this.find(b)];
		if (first !== second) this.#setExcluded(first, second);
	}

	#excludes(first: number, second: number): boolean {
		return this.#excluded.get(first)?.has(second) ?? false;
	}

	#exclusions(root: number): number {
		return this.#excluded.get(root)?.size ?? 0;
	}

	#setExcluded(first: number, second: number): void {
		this.#addExclusion(first, second);
		this.#addExclusion(second, first);
	}

	#addExclusion(root: number, other: number): void {
		const excluded = this.#excluded.get(root);
		if (excluded) excluded.add(other);
		else this.#excluded.set(root, new Set([other]));
	}
}
