/** What bellis offers. Everything is declared and described in the modules named here. */

export type { BlockStats, BlockStatus, PlainBlock } from './dist/block.js';
export { Block } from './dist/block.js';
export { BlockBatch } from './dist/block-batch.js';
export type { Fit } from './dist/block-geometry.js';
// workers of one's own
export { Client } from './dist/client.js';
export { Context } from './dist/context.js';
// for people who look inside or drive it themselves
export { DependencyGraph } from './dist/dependency-graph.js';
export type {
	BellisErrorByCode,
	BellisErrorCode,
	ModuleProblem,
	PlainRegion,
} from './dist/errors.js';
// errors
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
} from './dist/errors.js';
export type { FunctionOption, ModuleLocation } from './dist/functions/reference.js';
export type { CoordinateLike } from './dist/geometry/coordinate.js';
// geometry
export { Coordinate } from './dist/geometry/coordinate.js';
export type { RoiLike, SnapMode } from './dist/geometry/roi.js';
export { Roi } from './dist/geometry/roi.js';
export type { Exit, Handle, Launcher, LaunchSpec, WorkerLogs } from './dist/launchers/launcher.js';
export type { LocalLauncherOptions } from './dist/launchers/local.js';
export { LocalLauncher } from './dist/launchers/local.js';
export type { Edge, PipelinePart } from './dist/pipeline.js';
export { chain, Pipeline, parallel } from './dist/pipeline.js';
export { profileBlock } from './dist/profile-block.js';
// progress
export { BarsObserver } from './dist/progress/bars.js';
export type { RunEvent } from './dist/progress/events.js';
export { RunEvents } from './dist/progress/events.js';
export type { JsonProgressOptions } from './dist/progress/json-observer.js';
export { JsonProgressObserver } from './dist/progress/json-observer.js';
export { LinesObserver } from './dist/progress/lines.js';
export type { Counts, ProgressObserver, TaskCounts } from './dist/progress/observer.js';
export type { Distribution, WorkerExitKind } from './dist/report/run-report.js';
// runs
export type { RunOptions, RunOrder } from './dist/run/options.js';
export { Scheduler } from './dist/scheduler.js';
export type { LogMode } from './dist/settings.js';
export { setLogDir, setLogMode, setTrackingDir } from './dist/settings.js';
export type {
	CheckFunction,
	OnBlockError,
	OnLayoutMismatch,
	ProcessFunction,
	TaskOptions,
	WorkerFunction,
} from './dist/task/options.js';
export type { NestedMask, SkipMask } from './dist/task/skip-mask.js';
// the heart: tasks, pipelines, and what a block function is given
export { Task } from './dist/task/task.js';
export type { BlockFailure, TaskState } from './dist/task-state.js';
export type {
	RecordedDistribution,
	RecordedWorker,
	RunRecord,
} from './dist/tracking/run-record.js';
export type {
	BlockRecord,
	ReportedBlocks,
	ReportedResources,
	ReportedWorker,
	ReportedWorkers,
} from './dist/tracking/task-report.js';
// what is remembered of runs
export { TaskReport } from './dist/tracking/task-report.js';
export type { NestedError } from './dist/error-report.js';
