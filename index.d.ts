/// <reference lib="esnext.disposable" />
/// <reference types="node" />
// biome-ignore-all assist/source/organizeImports: grouped by subject, for those who read it as a table of contents

// Tasks, pipelines, and what a block function is given
export { Task } from './dist/task/task.js';
export type {
	CheckFunction,
	OnBlockError,
	OnLayoutMismatch,
	ProcessFunction,
	TaskOptions,
	WorkerFunction,
} from './dist/task/options.js';
export type { NestedMask, SkipMask } from './dist/task/skip-mask.js';
export type { FunctionOption, ModuleLocation } from './dist/functions/reference.js';
export { chain, Pipeline, parallel } from './dist/pipeline.js';
export type { Edge, PipelinePart } from './dist/pipeline.js';
export { Block } from './dist/block.js';
export type { BlockStats, BlockStatus, PlainBlock } from './dist/block.js';
export { Context } from './dist/context.js';
export { profileBlock } from './dist/profile-block.js';

// Geometry
export { Coordinate } from './dist/geometry/coordinate.js';
export type { CoordinateLike } from './dist/geometry/coordinate.js';
export { Roi } from './dist/geometry/roi.js';
export type { RoiLike, SnapMode } from './dist/geometry/roi.js';
export type { Fit } from './dist/fit.js';

// Runs
export { runBlockwise } from './dist/run/run-blockwise.js';
export type { RunBlockwiseOptions } from './dist/run/run-blockwise.js';
export type { RunInput } from './dist/run/execute.js';
export { Server } from './dist/run/server.js';
export type { RunOptions, RunOrder } from './dist/run/options.js';
export type { BlockFailure, TaskState } from './dist/task-state.js';
export type { NestedError } from './dist/error-report.js';
export { setLogDir, setLogMode, setTrackingDir } from './dist/settings.js';
export type { LogMode } from './dist/settings.js';

// Progress
export { BarsObserver } from './dist/progress/bars.js';
export { RunEvents } from './dist/progress/events.js';
export type { RunEvent } from './dist/progress/events.js';
export { JsonProgressObserver } from './dist/progress/json-observer.js';
export type { JsonProgressOptions } from './dist/progress/json-observer.js';
export { LinesObserver } from './dist/progress/lines.js';
export type { Counts, ProgressObserver, TaskCounts } from './dist/progress/observer.js';

// Workers of one's own
export { Client } from './dist/client.js';
export { LocalLauncher } from './dist/launchers/local.js';
export type { LocalLauncherOptions } from './dist/launchers/local.js';
export type { Exit, Handle, Launcher, LaunchSpec, WorkerLogs } from './dist/launchers/launcher.js';

// What is remembered of runs
export { TrackingStore } from './dist/tracking/tracking-store.js';
export type {
	FailedBlock,
	StoreResetOptions,
	StoreStatus,
} from './dist/tracking/tracking-store.js';
export type { ReportPlace, TaskResetOptions, TrackingPlace } from './dist/task/task-store.js';
export { TaskReport } from './dist/tracking/task-report.js';
export type {
	BlockRecord,
	ReportedBlocks,
	ReportedResources,
	ReportedWorker,
	ReportedWorkers,
} from './dist/tracking/task-report.js';
export type {
	RecordedDistribution,
	RecordedWorker,
	RunRecord,
} from './dist/tracking/run-record.js';
export type { RecordedFailure } from './dist/tracking/recorded-failure.js';
export type {
	Distribution,
	FailureReport,
	ReportedBlock,
	WorkerExitKind,
} from './dist/report/run-report.js';

// For people who look inside or drive it themselves
export { DependencyGraph } from './dist/dependency-graph.js';
export { Scheduler } from './dist/scheduler.js';
export type { SchedulerOptions } from './dist/scheduler.js';
export { BlockBatch } from './dist/block-batch.js';

// Errors
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
export type {
	BellisErrorByCode,
	BellisErrorCode,
	ModuleProblem,
	PlainRegion,
} from './dist/errors.js';
