//! What a run wants done: everything it tells the driver.

use super::{ConnectionId, ErrorReport, FailureReport, WorkerId};
use crate::{BlockIndex, TaskIndex};

/// One action. Block lists are spans of the [`Outbox`] that carries it.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The peer is a worker now; it has this number from here on.
    Welcome {
        /// Whom to tell.
        conn: ConnectionId,
        /// Its number, which may differ from the one in its context.
        worker: WorkerId,
        /// The task it works for.
        task: TaskIndex,
    },
    /// Give these blocks to the worker, to run in this order.
    Grant {
        /// To whom.
        conn: ConnectionId,
        /// Never empty.
        blocks: BlockSpan,
        /// Nothing may run beside these in the worker: they were running when one died, and it isn't
        /// known which of them killed it.
        alone: bool,
    },
    /// Ask the worker for these back if it hasn't started them. It answers with one `Returned`.
    Retract {
        /// Whom to ask.
        conn: ConnectionId,
        /// Never empty.
        blocks: BlockSpan,
    },
    /// The worker should take no further block, give back what it hasn't started, finish what runs,
    /// and leave. Sent once to a connection.
    Shutdown {
        /// Whom to tell.
        conn: ConnectionId,
        /// Why.
        reason: ShutdownReason,
    },
    /// Close the connection now. Nothing the peer sends counts any more; the run has forgotten the
    /// name and needs no `Disconnected`.
    CloseConnection {
        /// Which.
        conn: ConnectionId,
        /// Why.
        reason: CloseReason,
    },
    /// Have the launcher start a worker. Answered by `WorkerStarted` or `StartFailed`.
    StartWorker {
        /// For which task.
        task: TaskIndex,
        /// Its number, to be put in its context.
        worker: WorkerId,
    },
    /// Stop the worker's process at once (`handle.stop()`, kill -9 for local ones). Where its exit
    /// is reported, `WorkerExited` is expected to follow.
    KillWorker {
        /// Which.
        worker: WorkerId,
        /// Why.
        reason: KillReason,
    },
    /// Ask the user's check function about these blocks. Answered by one `Checked`.
    Check {
        /// Whose function.
        task: TaskIndex,
        /// Never empty.
        blocks: BlockSpan,
    },
    /// A failed attempt, or a worker that failed without a block. At most about 50 a second; others
    /// are only counted.
    Failed(Box<FailureReport>),
    /// Something the user should be told once.
    Warn(Warning),
    /// Every block of the task has reached its end (or the task was abandoned).
    TaskFinished {
        /// Which.
        task: TaskIndex,
    },
    /// The run is over and nothing is waited for any more. Sent once, last of all but `Shutdown` for
    /// peers that come too late.
    Finished,
}

/// Why a worker is sent home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownReason {
    /// Nothing is left to do for its task.
    TaskFinished,
    /// The run is over.
    RunFinished,
    /// Others hold all that is left of its task.
    Idle,
    /// Another task needs the resources it occupies.
    ResourcesNeeded,
    /// Its block failed and the task restarts workers on errors, or it said that it can't work.
    BlockFailed,
    /// The run was interrupted.
    Interrupted,
    /// The run ended with an error or reached its failure limit.
    RunStopped,
    /// It asked to resume too late, or the run never knew it.
    Forgotten,
    /// There is no such task.
    UnknownTask,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Nothing was heard of it for too long.
    Silent,
    /// A block ran past its deadline.
    TimedOut,
    /// It didn't leave when told to.
    DidNotLeave,
    /// It didn't answer a retraction.
    NoAnswer,
    /// The worker came back on another connection.
    Replaced,
}

/// Why a worker is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// A block ran past its deadline.
    TimedOut,
    /// Its connection broke or fell silent while it may still live.
    Lost,
    /// It never connected in the time allowed.
    NeverConnected,
    /// It never connected and isn't needed any more.
    NotNeeded,
    /// It didn't leave when told to.
    DidNotLeave,
    /// The grace of an interrupt is over.
    Interrupted,
}

/// Something the user should be told once.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Half of the restarts of a task are used up. Once a run.
    HalfBudget {
        /// Which task.
        task: TaskIndex,
        /// Restarts so far.
        restarts: u32,
        /// `maxWorkerRestarts`.
        max_restarts: u32,
        /// Whether its workers live on after a block's error, so that they die of something else.
        keeps_workers: bool,
        /// The latest error of a block or a worker.
        last_error: Option<Box<ErrorReport>>,
    },
    /// The check function threw or gave no boolean. Once a task.
    CheckError {
        /// Which task.
        task: TaskIndex,
        /// The first error.
        error: Box<ErrorReport>,
    },
    /// A worker ended without an error and without ever asking for a block, while some were left.
    /// Once a task.
    EndedWithoutAsking {
        /// Which task.
        task: TaskIndex,
        /// The first such worker.
        worker: WorkerId,
    },
    /// The task has no block at all.
    EmptyTask {
        /// Which task.
        task: TaskIndex,
    },
}

/// A list of blocks inside an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    start: u32,
    end: u32,
}

impl BlockSpan {
    /// Number of blocks.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Actions in the order in which they have to be done, and the blocks they name.
///
/// One outbox is meant to be used again and again: read it, [`clear`](Outbox::clear) it, hand it to
/// the next event.
#[derive(Debug, Default)]
pub struct Outbox {
    actions: Vec<Action>,
    blocks: Vec<BlockIndex>,
}

impl Outbox {
    /// Empty.
    pub fn new() -> Outbox {
        Outbox::default()
    }

    /// What to do, first to last.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The blocks of an action of this outbox.
    pub fn blocks(&self, span: BlockSpan) -> &[BlockIndex] {
        &self.blocks[span.start as usize..span.end as usize]
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.actions.clear();
        self.blocks.clear();
    }

    pub(super) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Where the next block list begins.
    pub(super) fn mark(&self) -> usize {
        self.blocks.len()
    }

    /// Room for a block list, to be closed with [`span_since`](Outbox::span_since).
    pub(super) fn block_list(&mut self) -> &mut Vec<BlockIndex> {
        &mut self.blocks
    }

    pub(super) fn span_since(&self, mark: usize) -> BlockSpan {
        BlockSpan {
            start: mark as u32,
            end: self.blocks.len() as u32,
        }
    }
}
