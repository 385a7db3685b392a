/** How long a block may run unless its task says otherwise, in milliseconds: ten minutes. */
export const DEFAULT_TIMEOUT_MS = 600_000;
