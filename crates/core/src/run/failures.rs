//! What went wrong: errors as workers report them, exits of processes, the failures that are kept.

use super::{Nanos, WorkerId};
use crate::{BlockIndex, TaskIndex};

/// An error that was thrown in JavaScript, or that the system gave, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorReport {
    /// The class, such as `TypeError`.
    pub name: String,
    /// The message.
    pub message: String,
    /// The stack, where there is one.
    pub stack: Option<String>,
    /// The chain of causes, the parts of an aggregate and further fields, as JSON.
    pub details: Option<String>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Which kind of end it was.
    pub kind: ExitKind,
    /// In words, such as `killed by SIGKILL` or `exited with code 3`.
    pub description: String,
    /// The last lines it wrote to stderr, where they are known.
    pub stderr_tail: Option<String>,
}

/// Which kind of end a process had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// Code 0.
    Clean,
    /// Any other code.
    Code(i32),
    /// A signal.
    Signal(i32),
    /// The run had it stopped: no failure.
    Stopped,
    /// Its own watchdog killed it for a block past its deadline.
    TimedOut,
    /// The system killed it for memory.
    OutOfMemory,
    /// Nobody knows.
    Unknown,
}

impl ExitKind {
    /// Whether this counts as a failure of the worker.
    pub fn is_dirty(self) -> bool {
        !matches!(self, ExitKind::Clean | ExitKind::Stopped)
    }
}

/// A failed attempt at a block, or the failure of a worker that had none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReport {
    /// The task.
    pub task: TaskIndex,
    /// The block, where one is to blame.
    pub block: Option<BlockIndex>,
    /// Who ran it.
    pub worker: WorkerId,
    /// Which attempt at the block this was, counting from 1; 0 without a block.
    pub attempt: u32,
    /// When.
    pub at: Nanos,
    /// Whether it was the last one, so that the block has failed for good.
    pub permanent: bool,
    /// What kind of failure.
    pub kind: FailureKind,
    /// What was thrown, or what is known of the death.
    pub error: ErrorReport,
}

/// What made an attempt fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The block function threw or the block was reported as failed.
    Thrown,
    /// The block ran past its deadline.
    TimedOut,
    /// The worker's process ended.
    Exited,
    /// The connection broke or fell silent.
    Lost,
    /// The worker never came to work.
    Start,
}
