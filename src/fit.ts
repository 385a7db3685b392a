/** How the blocks at the upper border are treated when the volume doesn't divide evenly. */
export type Fit = 'valid' | 'overhang' | 'shrink';

/** What a fit means; the same as in the core. */
interface FitRule {
	/** Whether blocks that would write beyond the total write Roi are left out. */
	readonly onlyWholeBlocks: boolean;
	/** Whether what a block writes is cut at the total write Roi. */
	readonly cutsWrites: boolean;
	/** Whether what a block reads is cut at the total Roi. */
	readonly cutsReads: boolean;
}

/** The rule of each fit. */
export const FIT_RULES: Readonly<Record<Fit, FitRule>> = {
	valid: { onlyWholeBlocks: true, cutsWrites: false, cutsReads: false },
	overhang: { onlyWholeBlocks: false, cutsWrites: false, cutsReads: false },
	shrink: { onlyWholeBlocks: false, cutsWrites: true, cutsReads: true },
};

/** Every fit, as the option `fit` takes it. */
export const FITS = Object.keys(FIT_RULES) as Fit[];
