/** How long a block may run where a task says nothing: ten minutes, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 600_000;
