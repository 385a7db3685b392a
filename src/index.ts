export { Block } from './block.js';
export { Context } from './context.js';
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
export { chain, Pipeline, parallel } from './pipeline.js';
export { setLogDir, setLogMode, setTrackingDir } from './settings.js';
export { Task } from './task/task.js';
