//! A run as a state machine: events in, actions out; no I/O, no clock, no threads.
//!
//! The driver (the server's loop, a simulator, a test) tells [`Event`]s with the time at which they
//! happened and does the [`Action`]s that it finds in the [`Outbox`].

mod actions;
mod config;
mod distribution;
mod events;
mod failures;
mod ids;
mod snapshot;
mod time;

pub use actions::{Action, BlockSpan, CloseReason, KillReason, Outbox, ShutdownReason, Warning};
pub use config::{OnBlockError, Order, RunConfig, TaskConfig, Timing};
pub use distribution::Distribution;
pub use events::{BlockResult, BlockStatus, CheckAnswer, Event, Hello, Loss, Running};
pub use failures::{ErrorReport, Exit, ExitKind, FailureKind, FailureReport};
pub use ids::{ConnectionId, ConnectionIds, WorkerId};
pub use snapshot::{
    AbandonReason, MeasuredBlocks, Outcome, RunError, RunSnapshot, RunningBlock, TaskReport,
    TaskSnapshot, WorkerEnd, WorkerReport,
};
pub use time::Nanos;
