/** Something that the user of the command line can set right; its message is all there is to say. */
export class UsageError extends Error {
	override readonly name = 'UsageError';
}
