//! What can be seen of a run while it goes on, and how it ended.

use super::{Distribution, ErrorReport, FailureReport, Nanos, WorkerId};
use crate::{BlockIndex, RecordError, TaskIndex};

/// The state of a run at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSnapshot {
    /// In graph order.
    pub tasks: Vec<TaskSnapshot>,
    /// The block that has been running longest.
    pub oldest_running: Option<RunningBlock>,
    /// How the run ended; `None` while it goes on.
    pub outcome: Option<Outcome>,
}

/// A block in a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningBlock {
    /// Its task.
    pub task: TaskIndex,
    /// Which.
    pub block: BlockIndex,
    /// Who runs it.
    pub worker: WorkerId,
    /// For how long.
    pub age: Nanos,
}

/// Counters of one task at one moment.
///
/// `ready + pending + processing + completed + failed + orphaned == total`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskSnapshot {
    /// Blocks of the task.
    pub total: u64,
    /// May be handed out now.
    pub ready: u64,
    /// Wait for other blocks or for a retry delay.
    pub pending: u64,
    /// In workers' hands.
    pub processing: u64,
    /// Finished or skipped.
    pub completed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Failed for good.
    pub failed: u64,
    /// Can't run because another one failed or the task was abandoned.
    pub orphaned: u64,
    /// A block was handed out or skipped.
    pub started: bool,
    /// Every block has reached its end.
    pub done: bool,
    /// Why the task was given up.
    pub abandoned: Option<AbandonReason>,
    /// Workers started.
    pub worker_starts: u32,
    /// Of these beyond the first `max_workers`.
    pub worker_restarts: u32,
    /// Workers that ended with an error.
    pub worker_failures: u32,
    /// Failed attempts, retried ones included.
    pub failed_attempts: u64,
    /// Of these past their deadline.
    pub timeouts: u64,
    /// Blocks whose check function threw or gave no boolean.
    pub check_errors: u64,
    /// Workers asked for that haven't connected.
    pub starting_workers: u32,
    /// Workers connected.
    pub connected_workers: u32,
    /// Of these without a block.
    pub idle_workers: u32,
    /// Workers that have said goodbye, or were cut off, and whose end hasn't been seen.
    pub ending_workers: u32,
    /// Wants a worker and lacks the resources for it.
    pub waits_for_resources: bool,
}

/// Why a task was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbandonReason {
    /// No worker lives and no start is left.
    RestartsUsedUp,
    /// A task before it was given up.
    UpstreamAbandoned {
        /// The nearest one.
        task: TaskIndex,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every task reached its end. Blocks may have failed, tasks may be abandoned.
    Finished,
    /// Somebody stopped it.
    Interrupted,
    /// As many blocks failed as the user allows.
    FailureLimit,
    /// Going on was impossible.
    Failed(RunError),
}

/// Why a run can't begin or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// There isn't one configuration for each task.
    #[error("{given} task configurations for {tasks} tasks")]
    TaskCount {
        /// Configurations.
        given: usize,
        /// Tasks.
        tasks: usize,
    },
    /// A worker of this task could never start.
    #[error("the task requires {required} of the resource {name}, and the run has {available}")]
    Resources {
        /// Which task.
        task: TaskIndex,
        /// The resource.
        name: String,
        /// What the task wants.
        required: u64,
        /// What there is.
        available: u64,
    },
    /// The store couldn't take in a finished block, which therefore doesn't count as done.
    #[error("a block couldn't be recorded: {error}")]
    Record {
        /// Which task.
        task: TaskIndex,
        /// Which block.
        block: BlockIndex,
        /// What the store said.
        error: RecordError,
    },
    /// A success came without the measurements that its task asks for.
    #[error("a block came back without the measurements that its task asks for")]
    NoMeasurements {
        /// Which task.
        task: TaskIndex,
        /// Which block.
        block: BlockIndex,
    },
    /// A worker can't run the task's function at all.
    #[error("{}: {}", error.name, error.message)]
    Unusable {
        /// Which task.
        task: TaskIndex,
        /// Who said so.
        worker: WorkerId,
        /// What was thrown.
        error: ErrorReport,
    },
    /// The driver gave up.
    #[error("{message}")]
    Driver {
        /// A stable code for the caller.
        code: String,
        /// Why.
        message: String,
    },
}

/// The record of a whole task, for the summary and the report.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// Its counters.
    pub counters: TaskSnapshot,
    /// The first failures for good, in their order; the rest is only counted.
    pub failures: Vec<FailureReport>,
    /// The first error of a block or a worker.
    pub first_error: Option<ErrorReport>,
    /// The last error of a block or a worker.
    pub last_error: Option<ErrorReport>,
    /// What the first worker said or left behind when it ended with an error.
    pub first_worker_error: Option<String>,
    /// When the first worker was started or the first block skipped or handed out.
    pub began: Option<Nanos>,
    /// When the last block reached its end or the last worker ended; `None` before.
    pub ended: Option<Nanos>,
    /// Seconds of each block that succeeded, from the start in the worker to the return.
    pub round_trip: Distribution,
    /// What workers measured, over the blocks that succeeded.
    pub measured: MeasuredBlocks,
    /// Everybody who worked for the task, in order of number.
    pub workers: Vec<WorkerReport>,
}

/// What workers measured inside their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredBlocks {
    /// Seconds.
    pub wall_seconds: Distribution,
    /// Seconds.
    pub cpu_seconds: Distribution,
    /// Bytes.
    pub peak_rss_bytes: Distribution,
    /// Bytes.
    pub io_read_bytes: Distribution,
    /// Bytes.
    pub io_write_bytes: Distribution,
    /// Largest of all, in bytes.
    pub max_peak_rss_bytes: u64,
}

/// One worker's time line, on the run's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerReport {
    /// Who.
    pub worker: WorkerId,
    /// Whether the run started it; others came by themselves.
    pub started_by_run: bool,
    /// When it was started, or came.
    pub started_at: Nanos,
    /// Whether it ever connected.
    pub connected: bool,
    /// When it first asked for a block.
    pub first_acquire_at: Option<Nanos>,
    /// When it ended.
    pub ended_at: Option<Nanos>,
    /// Blocks it ran, failed attempts included.
    pub blocks: u64,
    /// Seconds without a block before each one.
    pub idle: Distribution,
    /// Seconds in each block, failed attempts included.
    pub compute: Distribution,
    /// From the word to leave to the end; `None` after an error.
    pub teardown: Option<Nanos>,
    /// How it ended.
    pub exit: WorkerEnd,
    /// The end in words; empty for a clean one.
    pub exit_reason: String,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerEnd {
    /// It hasn't, as far as anybody knows.
    Running,
    /// As it should.
    Clean,
    /// The run had it stopped.
    Stopped,
    /// With an error.
    Error,
    /// Its connection broke, and nobody knows more.
    Lost,
}
