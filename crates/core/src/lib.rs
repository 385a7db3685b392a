//! Geometry, block grid, dependencies, scheduler and the run as a state machine: no I/O, no clock, no threads.

#![forbid(unsafe_code)]

mod axis;
mod block_box;
mod block_grid;
mod cantor;
mod coordinate;
mod coverage;
mod done_map;
mod error;
mod fast_div;
mod ids;
mod levels;
mod roi;
pub mod run;
mod scheduler;
mod skip_mask;
mod task_graph;
mod task_spec;
mod topology;

pub use block_grid::BlockGrid;
pub use coordinate::{Coordinate, MAX_DIMS};
pub use done_map::{BlockRecord, BlockStats, DoneMap, MemoryDoneMap, RecordError};
pub use error::CoreError;
pub use ids::{BlockIndex, TaskIndex};
pub use roi::Roi;
pub use scheduler::{Counters, FailOutcome, Order, Scheduler, TaskInputs};
pub use skip_mask::SkipMask;
pub use task_graph::TaskGraph;
pub use task_spec::{Fit, TaskSpec, MAX_COORDINATE};
