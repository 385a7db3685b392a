/** `true` when both types are the same, not only assignable. */
export type Same<A, B> =
	(<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only for `true`: `expectType<Same<A, B>>()`. */
export function expectType<_Holds extends true>(): void {}
