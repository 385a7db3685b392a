export { Block } from './block.js';
export { BlockBatch } from './block-batch.js';
export { Client } from './client.js';
export { Context } from './context.js';
export { DependencyGraph } from './dependency-graph.js';
export {
	AbandonedError,
	BellisError,
	ConnectionError,
	FunctionError,
	InterruptedError,
	isBellisError,
	LayoutMismatchError,
	ModuleError,
	NativeBindingError,
	NoTrackingPathError,
	PipelineError,
	StoreError,
	StoreLockedError,
	UncoveredError,
	ValidationError,
} from './errors.js';
export { Coordinate } from './geometry/coordinate.js';
export { Roi } from './geometry/roi.js';
export { LocalLauncher } from './launchers/local.js';
export { chain, Pipeline, parallel } from './pipeline.js';
export { profileBlock } from './profile-block.js';
export { BarsObserver } from './progress/bars.js';
export { RunEvents } from './progress/events.js';
export { JsonProgressObserver } from './progress/json-observer.js';
export { LinesObserver } from './progress/lines.js';
export { runBlockwise } from './run/run-blockwise.js';
export { Server } from './run/server.js';
export { Scheduler } from './scheduler.js';
export { setLogDir, setLogMode, setTrackingDir } from './settings.js';
export { Task } from './task/task.js';
export { TaskReport } from './tracking/task-report.js';
export { TrackingStore } from './tracking/tracking-store.js';
