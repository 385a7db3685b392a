import { BarsObserver } from './bars.js';
import { LinesObserver } from './lines.js';
import type { ProgressObserver } from './observer.js';

/** Whether a run in this process draws bars now: a second one at the same time prints lines. */
let drawing = false;

/** What decides between bars and lines. */
export interface DisplaySurroundings {
	readonly stream: NodeJS.WriteStream;
	readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The observer that a run's `progress` option asks for: `true` is bars on a terminal and lines elsewhere (also under `CI` and
 * on a dumb terminal), `false` is none but notices, an observer is itself.
 */
export function displayFor(
	progress: boolean | ProgressObserver,
	{ stream, env }: DisplaySurroundings = { stream: process.stderr, env: process.env },
): ProgressObserver {
	if (typeof progress === 'object') return progress;
	if (!progress) return noticesOnly(new LinesObserver(stream));
	if (!stream.isTTY || env.CI || env.TERM === 'dumb' || drawing) return new LinesObserver(stream);
	drawing = true;
	const bars = new BarsObserver(stream);
	return {
		onStart: (states) => bars.onStart(states),
		onProgress: (states) => bars.onProgress(states),
		onEvent: (event) => bars.onEvent(event),
		onFinish: (states) => {
			drawing = false;
			bars.onFinish(states);
		},
	};
}

function noticesOnly(lines: LinesObserver): ProgressObserver {
	return { onEvent: (event) => lines.onEvent(event) };
}
