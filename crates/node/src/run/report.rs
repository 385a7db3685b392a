//! What a run tells: states, failures, and the timeline of its workers.

use napi_derive::napi;

/// The counters of one task.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeTaskState {
    /// All blocks.
    pub total: f64,
    /// Blocks that could run now.
    pub ready: f64,
    /// Blocks that wait for others.
    pub pending: f64,
    /// Blocks that workers have.
    pub processing: f64,
    /// Finished blocks, skipped ones included.
    pub completed: f64,
    /// Blocks that didn't have to run.
    pub skipped: f64,
    /// Blocks that failed for good.
    pub failed: f64,
    /// Blocks that will never run, because one they need failed.
    pub orphaned: f64,
    /// Something was handed out or skipped.
    pub started: bool,
    /// No block is left.
    pub done: bool,
    /// The task was given up.
    pub abandoned: bool,
    /// Why it was given up.
    pub abandon_reason: Option<String>,
    /// Workers started.
    pub worker_starts: f64,
    /// Starts beyond the first `maxWorkers`.
    pub worker_restarts: f64,
    /// Exits that weren't clean.
    pub worker_failures: f64,
    /// Attempts that failed, retried ones included.
    pub failed_attempts: f64,
    /// Calls of the check function that failed.
    pub check_errors: f64,
    /// Attempts that took too long.
    pub timeouts: f64,
    /// Workers asked for that haven't connected.
    pub starting_workers: u32,
    /// Workers connected.
    pub connected_workers: u32,
    /// Of these without a block.
    pub idle_workers: u32,
    /// Workers that are gone from the line and whose processes aren't.
    pub ending_workers: u32,
    /// Wants a worker and lacks the resources for it.
    pub waits_for_resources: bool,
    /// The first error of a block or a worker, in words; known at the end of the run.
    pub first_error: Option<String>,
    /// The last error of a block or a worker, in words; known at the end of the run.
    pub last_error: Option<String>,
}

/// The state of a run at one moment.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeRunSnapshot {
    /// Per task.
    pub tasks: Vec<NativeTaskState>,
    /// The block that has been running longest.
    pub oldest_running: Option<NativeRunningBlock>,
}

/// A block in a worker.
#[napi(object)]
#[derive(Clone)]
pub struct NativeRunningBlock {
    /// Position of the task.
    pub task: u32,
    /// Index of the block.
    pub block: f64,
    /// Number of the worker.
    pub worker: u32,
    /// For how long, in seconds.
    pub age: f64,
}

/// What a worker reports about anything thrown; capped by the worker.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeErrorReport {
    /// Class name of the error.
    pub name: String,
    /// Its message.
    pub message: String,
    /// Its stack, with the user's files.
    pub stack: Option<String>,
    /// JSON: chain of causes, errors of an AggregateError, other fields.
    pub details: Option<String>,
}

/// A failed attempt.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeBlockFailure {
    /// Position of the task.
    pub task: u32,
    /// Index of the block; `null` when the worker had none in hand.
    pub block: Option<f64>,
    /// Number of the worker; `null` for none.
    pub worker: Option<u32>,
    /// The first attempt is 1.
    pub attempt: u32,
    /// The block won't be tried again.
    pub permanent: bool,
    /// What kind of failure.
    #[napi(ts_type = "'error' | 'timeout' | 'exit' | 'lost' | 'start'")]
    pub kind: String,
    /// What was thrown, or what is known of the death.
    pub error: NativeErrorReport,
    /// When, in UNIX seconds.
    pub at: f64,
}

/// A distribution; `std` is the n-1 form and NaN below two samples.
#[napi(object)]
#[derive(Clone)]
pub struct NativeStat {
    /// Samples.
    pub count: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Sum.
    pub total: f64,
}

/// One worker's life; times in UNIX seconds, durations in seconds.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeWorkerReport {
    /// Number of the worker.
    pub worker: u32,
    /// The run started it; others came by themselves.
    pub started_by_run: bool,
    /// When it was started, or came.
    pub started_at: f64,
    /// Whether it ever connected.
    pub connected: bool,
    /// When it first asked for a block.
    pub first_acquire_at: Option<f64>,
    /// When it ended.
    pub exited_at: Option<f64>,
    /// From start to first asking.
    pub startup: Option<f64>,
    /// Attempts, failed ones included.
    pub blocks: f64,
    /// Gaps before its blocks.
    pub idle: NativeStat,
    /// Time in its blocks.
    pub compute: NativeStat,
    /// From being told to stop to its exit.
    pub teardown: Option<f64>,
    /// How it ended.
    #[napi(ts_type = "'running' | 'clean' | 'error' | 'stopped' | 'lost'")]
    pub exit: String,
    /// The end in words; empty for a clean one.
    pub exit_reason: String,
}

/// Measurements inside the blocks of a task.
#[napi(object)]
#[derive(Clone)]
pub struct NativeResourceReport {
    /// Blocks measured.
    pub measured: f64,
    /// Largest peak of resident memory, in bytes.
    pub max_peak_rss: f64,
    /// Wall time, in seconds.
    pub wall: NativeStat,
    /// Processor time, in seconds.
    pub cpu: NativeStat,
    /// Peak resident memory, in bytes.
    pub peak_rss: NativeStat,
    /// Bytes read.
    pub io_read: NativeStat,
    /// Bytes written.
    pub io_write: NativeStat,
}

/// The timeline of one task.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeTaskReport {
    /// First start or skip.
    pub started_at: Option<f64>,
    /// Last release.
    pub finished_at: Option<f64>,
    /// From sending to return of blocks that succeeded, in seconds.
    pub round_trip: NativeStat,
    /// Every started worker, by number.
    pub workers: Vec<NativeWorkerReport>,
    /// From start to first asking.
    pub startup: NativeStat,
    /// Gaps before blocks.
    pub idle: NativeStat,
    /// From being told to stop to the exit.
    pub teardown: NativeStat,
    /// Time in blocks, failed attempts included.
    pub compute: NativeStat,
    /// Exits with code 0.
    pub clean_exits: f64,
    /// Exits with another code or by a signal.
    pub error_exits: f64,
    /// Workers that were stopped.
    pub stopped_exits: f64,
    /// Measurements; `null` when none was asked for.
    pub resources: Option<NativeResourceReport>,
}

/// Why a run ended early.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeRunError {
    /// One of the stable codes.
    pub code: String,
    /// In words.
    pub message: String,
    /// Position of the task that it is about.
    pub task: Option<u32>,
    /// Typed fields of the error class.
    #[napi(ts_type = "Record<string, string>")]
    pub details: Option<std::collections::HashMap<String, String>>,
}

/// What is left of a run.
#[napi(object, use_nullable = true)]
#[derive(Clone)]
pub struct NativeRunResult {
    /// Per task.
    pub states: Vec<NativeTaskState>,
    /// Per task, the permanent ones, as many as were to be kept.
    pub failures: Vec<Vec<NativeBlockFailure>>,
    /// Per task: first exit in words, with the last lines of stderr.
    pub first_worker_error: Vec<Option<String>>,
    /// Per task.
    pub reports: Vec<NativeTaskReport>,
    /// How the run ended.
    #[napi(ts_type = "'finished' | 'interrupted' | 'failure-limit' | 'failed'")]
    pub outcome: String,
    /// For outcome `failed`.
    pub error: Option<NativeRunError>,
    /// UNIX seconds.
    pub started_at: f64,
    /// UNIX seconds.
    pub finished_at: f64,
}
