//! Plain data that goes into the scheduler and comes out of it.

use crate::{DoneMap, SkipMask};

/// What a task brings along beside its geometry.
#[derive(Default)]
pub struct TaskInputs {
    /// What earlier runs finished; `None` without tracking.
    pub done: Option<Box<dyn DoneMap + Send>>,
    /// Blocks that the user skips.
    pub skip_mask: Option<SkipMask>,
    /// A function of the user's is to be asked about each block, see
    /// [`take_unchecked`](crate::Scheduler::take_unchecked).
    pub has_check: bool,
    /// With `has_check`: done blocks are asked about as well instead of skipped.
    pub verify_done: bool,
}

/// Blocks of one task by what became of them.
/// `ready + pending + processing + completed + failed + orphaned == total` at all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All blocks of the task.
    pub total: u64,
    /// May be handed out, or skipped, now.
    pub ready: u64,
    /// Wait for other blocks, or for the delay before a retry.
    pub pending: u64,
    /// Handed out and not back.
    pub processing: u64,
    /// Done for good, including `skipped`.
    pub completed: u64,
    /// Completed without having been handed out.
    pub skipped: u64,
    /// Failed for good.
    pub failed: u64,
    /// Will never run, because a block that they need failed, or their task was abandoned.
    pub orphaned: u64,
}

/// What a failed attempt leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOutcome {
    /// The block gets another attempt.
    Retry {
        /// Attempts that have failed so far, this one included.
        attempts: u32,
    },
    /// It was the last attempt.
    Permanent {
        /// Blocks, in all tasks, that will never run because of it.
        orphaned: u64,
    },
}

/// Which of a task's ready blocks goes out first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Blocks that wait for nothing first, then as unlocked: level by level.
    #[default]
    Levels,
    /// What was unlocked last first, so that little lies between unlocked and done.
    DepthFirst,
}
