import { FIT_RULES, type Fit } from '../fit.js';

/** Intervals along one axis that nothing writes: before the first block's writes, or behind the last one's. */
export interface UncoveredInterval {
	readonly axis: number;
	readonly begin: number;
	readonly end: number;
}

/** What a coverage is computed from: a task's layout as plain numbers, one an axis. */
export interface CoverageLayout {
	/** Begin of the total write region: the total without its context. */
	readonly totalWriteOffset: readonly number[];
	/** Extent of the total write region. */
	readonly totalWriteShape: readonly number[];
	/** Extent of a block's write region. */
	readonly writeShape: readonly number[];
	/** Blocks on each axis. */
	readonly blockGridShape: readonly number[];
	/** How blocks at the upper border are fitted. */
	readonly fit: Fit;
}

/** Begin and end of what the blocks write, one pair an axis; empty along every axis when there is no block. */
export function writtenRegion(layout: CoverageLayout): { begin: number[]; end: number[] } {
	const { totalWriteOffset, totalWriteShape, writeShape, blockGridShape, fit } = layout;
	const begin = [...totalWriteOffset];
	if (blockGridShape.some((count) => count === 0)) return { begin, end: [...begin] };
	const end = begin.map((offset, axis) => {
		const reach = offset + (blockGridShape[axis] ?? 0) * (writeShape[axis] ?? 0);
		const border = offset + (totalWriteShape[axis] ?? 0);
		return FIT_RULES[fit].cutsWrites ? Math.min(reach, border) : reach;
	});
	return { begin, end };
}

/** The parts of the total write region that no block writes, at most one an axis. */
export function uncoveredIntervals(layout: CoverageLayout): UncoveredInterval[] {
	const { end } = writtenRegion(layout);
	return layout.totalWriteOffset.flatMap((offset, axis) => {
		const border = offset + (layout.totalWriteShape[axis] ?? 0);
		const begin = end[axis] ?? offset;
		return begin < border ? [{ axis, begin, end: border }] : [];
	});
}

/** `[190, 193) along axis 2`, several joined by commas. */
export function intervalsText(intervals: readonly UncoveredInterval[]): string {
	return intervals
		.map(({ axis, begin, end }) => `[${begin}, ${end}) along axis ${axis}`)
		.join(', ');
}
