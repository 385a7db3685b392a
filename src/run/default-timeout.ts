export { DEFAULT_TIMEOUT_MS } from '../task/default-timeout.js';
