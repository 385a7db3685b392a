//! What a server tells the program that runs it. All of it is rare; the blocks themselves never pass
//! here.

use bellis_core::run::{
    FailureReport, KillReason, Outcome, RunError, RunSnapshot, TaskReport, Warning, WorkerId,
};
use std::sync::Arc;

use bellis_core::{BlockIndex, TaskIndex};

use crate::notes::SharedWords;

/// The program around a server. Called on the run's thread, so nothing here may block or panic;
/// answers come through [`Commands`](super::Commands).
pub trait Host: Send {
    /// Start a worker. Answered by `WorkerStarted` or `StartFailed`.
    fn start_worker(&mut self, task: TaskIndex, worker: WorkerId);

    /// Stop a worker's process. Answered by `WorkerExited` where its exit is reported.
    fn kill_worker(&mut self, worker: WorkerId, reason: KillReason);

    /// The memory in which a worker of this machine notes what it does; `None` when it wasn't given any.
    fn notes(&mut self, worker: WorkerId) -> Option<Arc<dyn SharedWords>> {
        let _ = worker;
        None
    }

    /// The worker's process is over, or was never there: nobody asks for its notes any more.
    fn forget(&mut self, worker: WorkerId) {
        let _ = worker;
    }

    /// Ask the user's check function. Answered by one `Checked`.
    fn check(&mut self, task: TaskIndex, blocks: &[BlockIndex]);

    /// An attempt failed. At most about 50 a second.
    fn failed(&mut self, report: &FailureReport);

    /// Something the user should be told.
    fn notice(&mut self, notice: Notice);

    /// Every block of a task has reached its end.
    fn task_finished(&mut self, task: TaskIndex);

    /// How things are; at most ten times a second, and only after something changed.
    fn progress(&mut self, snapshot: RunSnapshot);

    /// Everything is over: the workers are gone, the stores are flushed, the port is closed. The
    /// last call.
    fn finished(&mut self, ended: Ended);
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// In one word.
    pub outcome: Outcome,
    /// The last snapshot. Empty when the run's thread panicked.
    pub snapshot: Option<RunSnapshot>,
    /// One for each task. Empty when the run's thread panicked.
    pub reports: Vec<TaskReport>,
}

/// Something the user should be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The run says so.
    Run(Warning),
    /// A peer was turned away, or thrown out. At most one in ten seconds; others are counted.
    Stranger {
        /// Where it came from.
        address: std::net::SocketAddr,
        /// What was wrong with it.
        reason: StrangerReason,
        /// Others since the last notice that weren't told.
        untold: u64,
    },
    /// The system gives no more connections just now.
    CannotAccept {
        /// Its reason.
        message: String,
    },
}

/// What was wrong with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrangerReason {
    /// It didn't speak our protocol.
    ForeignBytes,
    /// It is of another build: the text says which.
    OtherBuild(String),
    /// It hasn't got this run's secret.
    OtherRun,
    /// It hung up during its handshake.
    HungUp,
    /// It didn't finish its handshake in time.
    TooSlow,
    /// Others came while its handshake was going on, more than there is room for.
    CrowdedOut,
    /// There are as many connections as allowed.
    TooMany,
    /// It belongs to this run and sent what it must not: the text says what.
    Malformed(String),
}

/// What keeps the stores of a run on disk. Called on a thread of its own.
pub trait Keeper: Send {
    /// Writes what was recorded since the last time to the disk. Called every five seconds and once
    /// at the end.
    ///
    /// # Errors
    /// The run ends with this error.
    fn flush(&mut self) -> Result<(), RunError>;

    /// The last call: closes what is open, after the last flush.
    ///
    /// # Errors
    /// As [`flush`](Keeper::flush).
    fn close(&mut self) -> Result<(), RunError> {
        self.flush()
    }
}
