// The program that a worker process is.
import { runWorker } from './run-worker.js';

void runWorker();
