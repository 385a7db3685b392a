import { BarsObserver } from './bars.js';
import type { RunEvent } from './events.js';
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
 * on a dumb terminal), without colours under `NO_COLOR`; `false` is none but notices; an observer is itself, with
 * notices beside it when it takes no events.
 */
export function displayFor(
	progress: boolean | ProgressObserver,
	{ stream, env }: DisplaySurroundings = { stream: process.stderr, env: process.env },
): ProgressObserver {
	const lines = new LinesObserver(stream);
	if (typeof progress === 'object')
		return progress.onEvent ? progress : withNotices(progress, lines);
	if (!progress) return { onEvent: (event) => lines.onEvent(event) };
	if (!stream.isTTY || inCi(env) || env.TERM === 'dumb') return lines;
	return drawnByOne(new BarsObserver(stream, { colour: !env.NO_COLOR }), lines);
}

/** An observer that counts only; what it can't be told is written as lines. */
function withNotices(observer: ProgressObserver, lines: LinesObserver): ProgressObserver {
	const { writesToStdout } = observer as { writesToStdout?: boolean };
	return Object.assign(
		{
			onStart: observer.onStart?.bind(observer),
			onProgress: observer.onProgress?.bind(observer),
			onFinish: observer.onFinish?.bind(observer),
			onEvent: (event: RunEvent) => lines.onEvent(event),
		},
		{ writesToStdout },
	);
}

/** Bars if no other run draws them when this one starts, else lines. */
function drawnByOne(bars: BarsObserver, lines: LinesObserver): ProgressObserver {
	let shown: BarsObserver | LinesObserver = lines;
	return {
		onStart(states) {
			if (!drawing) shown = bars;
			drawing = true;
			shown.onStart(states);
		},
		onProgress: (states) => shown.onProgress(states),
		onEvent: (event) => shown.onEvent(event),
		onFinish(states) {
			if (shown === bars) drawing = false;
			shown.onFinish(states);
		},
	};
}

/** `CI=false` and `CI=0` are how people say that it is none. */
function inCi({ CI }: DisplaySurroundings['env']): boolean {
	return CI !== undefined && !['', '0', 'false'].includes(CI.toLowerCase());
}
