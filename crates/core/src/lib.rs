//! Geometry, block grid, dependencies, scheduler and the run as a state machine: no I/O, no clock, no threads.

mod block_record;
mod ids;
pub mod run;

pub use block_record::{BlockRecord, BlockStats};
pub use ids::{BlockIndex, TaskIndex};
