//! What happens to a run: everything the driver tells it.

use super::{ConnectionId, ErrorReport, Exit, Nanos, RunError, WorkerId};
use crate::{BlockIndex, BlockStats, TaskIndex};

/// One event. Slices are borrowed from the driver's buffers, so that no message costs an allocation.
///
/// Events about connections, workers or blocks that the run doesn't know (any more), or that come
/// twice, change nothing.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A peer passed the handshake. Answered by `Welcome`, or by `Shutdown` when it isn't needed.
    Connected {
        /// A name never used before.
        conn: ConnectionId,
        /// What the peer says about itself.
        hello: Hello,
    },
    /// A worker whose connection broke came back in time (the driver checked its token).
    ///
    /// Answered by `Welcome` with the same worker, or by `Shutdown` when the window is over. Results
    /// that the worker sends again come after this as `Released`.
    Resumed {
        /// The new connection's name.
        conn: ConnectionId,
        /// The name under which the worker was connected before.
        previous: ConnectionId,
        /// Every block the worker has in its hands: running, waiting, or finished and about to be
        /// reported. Others granted to it were lost on the way and go back to the queue.
        held: &'a [BlockIndex],
    },
    /// The worker's code wants blocks and can run `n` at once (its `concurrency`).
    ///
    /// The demand stands: the run keeps the worker supplied, with as many blocks in advance as the
    /// prefetch window says, until `n` is 0 or the connection ends. Sending it again is harmless.
    Acquire {
        /// Who asks.
        conn: ConnectionId,
        /// Blocks that can run at once; 0 takes the demand back.
        n: u32,
    },
    /// Blocks that the worker finished, in the order in which they ended.
    Released {
        /// Who finished them.
        conn: ConnectionId,
        /// One each.
        results: &'a [BlockResult],
    },
    /// Blocks that the worker hadn't started and won't start.
    ///
    /// Exactly one answers each `Retract`, possibly empty: what was asked for and isn't named had
    /// started. One that nobody asked for hands back blocks on the worker's own account and takes
    /// its demand back until the next `Acquire`.
    Returned {
        /// Who gives them back.
        conn: ConnectionId,
        /// Unstarted blocks.
        blocks: &'a [BlockIndex],
    },
    /// The worker is alive.
    Heartbeat {
        /// Who.
        conn: ConnectionId,
        /// The worker's monotonic clock when it sent this.
        sent: Nanos,
        /// The last round trip that the worker measured with the server, if any.
        round_trip: Option<Nanos>,
        /// The blocks it runs just now.
        running: &'a [Running],
    },
    /// The connection ended.
    Disconnected {
        /// Which.
        conn: ConnectionId,
        /// How.
        loss: Loss<'a>,
    },
    /// The worker can't work at all: its module doesn't load or has no such export (`fatal`), or its
    /// `setup` threw.
    Unusable {
        /// Who.
        conn: ConnectionId,
        /// The run ends with this error, instead of starting workers without end. Otherwise the
        /// worker counts as one that failed to start.
        fatal: bool,
        /// Why.
        error: &'a ErrorReport,
    },
    /// The launcher returned a handle for a start.
    WorkerStarted {
        /// As named in `StartWorker`.
        worker: WorkerId,
        /// Whether a `WorkerExited` will follow when it ends (`handle.exited`). Without, the worker
        /// lives and dies by its connection.
        exit_reported: bool,
    },
    /// The launcher threw or rejected.
    StartFailed {
        /// As named in `StartWorker`.
        worker: WorkerId,
        /// Why.
        error: &'a ErrorReport,
    },
    /// The worker's process (or job) is over.
    WorkerExited {
        /// As named in `StartWorker`.
        worker: WorkerId,
        /// How.
        exit: &'a Exit,
    },
    /// The answers to a `Check`, in its order. Missing ones count as errors, extra ones are ignored.
    Checked {
        /// The task that was checked.
        task: TaskIndex,
        /// One for each block.
        answers: &'a [CheckAnswer],
    },
    /// What a lost worker wrote down where its driver can read it, as far as that goes beyond what was
    /// told of it before. To be told before its `WorkerExited`, when nothing more can be written, and
    /// earlier as well if the driver likes: the last one counts.
    LastWords {
        /// The connection that ended.
        conn: ConnectionId,
        /// Blocks that it finished and whose results never came.
        results: &'a [BlockResult],
        /// The blocks that ran; `None` where that isn't known.
        running: Option<&'a [BlockIndex]>,
    },
    /// Somebody wants the run to stop (a signal, an `AbortSignal`).
    ///
    /// Running blocks get the shutdown grace. A second one within a second is the same one; a later
    /// one is an `Abort`.
    Interrupt,
    /// Every worker is to be killed now, without grace.
    Abort,
    /// Something outside the run makes going on impossible (the store lost its lock, the server's
    /// socket broke): the run ends with this error.
    Fatal(RunError),
    /// Nothing happened but time. To be sent when [`Run::next_deadline`](super::Run::next_deadline)
    /// has come; more often is harmless.
    Tick,
}

/// What a peer says about itself when it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The task it works for.
    pub task: TaskIndex,
    /// The worker number in its context; `None` for an external worker without one.
    pub worker: Option<WorkerId>,
    /// Whether it runs on this host: then a broken connection means a dead process.
    pub local: bool,
}

/// A block that a worker finished.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockResult {
    /// Which.
    pub block: BlockIndex,
    /// How it ended.
    pub status: BlockStatus,
    /// When it began, on the worker's monotonic clock.
    pub started: Nanos,
    /// When it ended, on the worker's monotonic clock.
    pub ended: Nanos,
    /// Measurements, for tasks that ask for them.
    pub stats: Option<BlockStats>,
    /// What was thrown. Boxed: failures are rare and results are many.
    pub error: Option<Box<ErrorReport>>,
}

/// How a block ended in a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStatus {
    /// Done.
    Success,
    /// It threw, or was reported as failed.
    Failed,
    /// The worker's own watchdog saw it past its deadline; the worker ends itself.
    TimedOut,
}

/// A block that a worker is running, as said in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Which.
    pub block: BlockIndex,
    /// For how long.
    pub age: Nanos,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss<'a> {
    /// The worker said goodbye with no block running; what it didn't start goes back to the queue.
    Goodbye,
    /// The connection broke, or its peer was thrown out for what it sent.
    Broken {
        /// The blocks that ran at the end, where that is known (the worker's last words, or what it
        /// left in shared memory). `None`: the run goes by the last heartbeat and the order of
        /// grants.
        running: Option<&'a [BlockIndex]>,
    },
}

/// What the user's check function said about one block.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckAnswer {
    /// Skip it.
    Done,
    /// Run it.
    NotDone,
    /// It threw or gave no boolean: run the block, count the error.
    Error(Box<ErrorReport>),
}
