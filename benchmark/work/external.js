// An external worker: a program of its own that finds the run through BELLIS_CONTEXT.
import work from './worker-function.js';

await work();
