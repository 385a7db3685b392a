/** Numbers that look random and depend on the seed alone. */
export class Dice {
	#state: number;

	constructor(seed: number) {
		this.#state = seed >>> 0;
	}

	/** From 0 to 1. */
	roll(): number {
		this.#state = (Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) >>> 0;
		return this.#state / 2 ** 32;
	}

	/** A whole number from 0 to `most` - 1. */
	pick(most: number): number {
		return Math.floor(this.roll() * most);
	}

	of<T>(choices: readonly T[]): T {
		return choices[this.pick(choices.length)]!;
	}
}
