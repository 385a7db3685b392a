//! A run as a state machine: events in, actions out; no I/O, no clock, no threads.
//!
//! The driver (the server's loop, a simulator, a test) tells [`Event`]s with the time at which they
//! happened and does the [`Action`]s that it finds in the [`Outbox`].

mod abandonment;
mod actions;
mod alarms;
mod arrivals;
mod blocks;
mod checks;
mod clock_offset;
mod config;
mod connections;
mod distribution;
mod events;
mod exits;
mod failures;
mod grants;
mod ids;
mod last_words;
mod limbo;
mod liveness;
mod losses;
mod machine;
mod prefetch;
mod random;
mod releases;
mod report;
mod resources;
mod retraction;
mod retries;
mod shutdown;
mod snapshot;
mod starts;
mod task_run;
mod time;
mod workers;

pub use actions::{Action, BlockSpan, CloseReason, KillReason, Outbox, ShutdownReason, Warning};
pub use config::{OnBlockError, RunConfig, TaskConfig, Timing};
pub use distribution::Distribution;
pub use events::{BlockResult, BlockStatus, CheckAnswer, Event, Hello, Loss, Running};
pub use failures::{ErrorReport, Exit, ExitKind, FailureKind, FailureReport};
pub use ids::{ConnectionId, ConnectionIds, WorkerId};
pub use machine::Run;
pub use snapshot::{
    AbandonReason, MeasuredBlocks, Outcome, RunError, RunSnapshot, RunningBlock, TaskReport,
    TaskSnapshot, WorkerEnd, WorkerReport,
};
pub use time::Nanos;

pub use crate::Order;
