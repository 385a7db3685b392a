//! What a run is told before it starts.

use super::Nanos;
use crate::Order;

/// Settings of a run. Amounts are validated by whoever builds it; [`Run::new`](super::Run::new)
/// checks what only it can know.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// One for each task of the scheduler's graph, in its order.
    pub tasks: Vec<TaskConfig>,
    /// The global budget of named resources. A name that isn't here has none.
    pub resources: Vec<(String, u64)>,
    /// In which order a chain is worked off. Depth first, a task also waits while the task after it
    /// has enough to do. Default: levels.
    pub order: Order,
    /// The run stops when this many blocks have failed for good (`failFast` is 1). Default: never.
    pub max_failures: Option<u64>,
    /// How long running blocks may go on after an interrupt. Default: 5 s.
    pub shutdown_grace: Nanos,
    /// Processors that local workers share. Default: 1.
    pub cores: u32,
    /// Seed of the jitter of retry delays and start delays.
    pub seed: u64,
    /// UNIX time in seconds at instant 0 of the run, for the times in the tracking store.
    pub unix_seconds_at_zero: f64,
    /// How many failures a task keeps in full. Default: 100.
    pub kept_failures: usize,
    /// No workers are started, watched or timed out: the driver runs the blocks itself.
    pub serial: bool,
    /// Periods and bounds that users don't set.
    pub timing: Timing,
}

impl RunConfig {
    /// The defaults, for these tasks.
    pub fn new(tasks: Vec<TaskConfig>) -> RunConfig {
        RunConfig {
            tasks,
            resources: Vec::new(),
            order: Order::Levels,
            max_failures: None,
            shutdown_grace: Nanos::from_secs(5),
            cores: 1,
            seed: 0,
            unix_seconds_at_zero: 0.0,
            kept_failures: 100,
            serial: false,
            timing: Timing::default(),
        }
    }
}

/// Settings of one task of a run.
#[derive(Clone, Debug)]
pub struct TaskConfig {
    /// Workers at once. At least 1. Default: 1.
    pub max_workers: u32,
    /// Starts beyond the first `max_workers`. Default: 10.
    pub max_worker_restarts: u32,
    /// How long a block may run. Default: 600 s.
    pub timeout: Nanos,
    /// What each worker occupies of the run's resources.
    pub requires: Vec<(String, u64)>,
    /// Higher goes first. Default: 0.
    pub priority: i32,
    /// Pause before the first retry of a block, doubled for each further one. Default: 0.
    pub retry_delay: Nanos,
    /// What a thrown error does to the worker. Default: it is restarted.
    pub on_block_error: OnBlockError,
    /// How long a start without a reported exit may take to connect. Default: for ever.
    pub connect_timeout: Option<Nanos>,
    /// Local processes: starts are paced to the processors. Others are asked for all at once.
    pub paced_starts: bool,
    /// A success must carry measurements.
    pub resource_tracking: bool,
    /// Most blocks in one `Check`. Default: 64.
    pub check_batch: usize,
}

impl Default for TaskConfig {
    fn default() -> TaskConfig {
        TaskConfig {
            max_workers: 1,
            max_worker_restarts: 10,
            timeout: Nanos::from_secs(600),
            requires: Vec::new(),
            priority: 0,
            retry_delay: Nanos::ZERO,
            on_block_error: OnBlockError::RestartWorker,
            connect_timeout: None,
            paced_starts: true,
            resource_tracking: false,
            check_batch: 64,
        }
    }
}

/// What an error thrown by a block function does to its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBlockError {
    /// The worker ends, which counts as a dirty exit.
    RestartWorker,
    /// The worker goes on with the next block.
    KeepWorker,
}

/// Periods and bounds that users don't set; tests do.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Silence after which a worker is lost. 5 s.
    pub silence: Nanos,
    /// How long the blocks of a remote worker with a broken connection stay held. 4 s.
    pub resume_window: Nanos,
    /// How long after a block's timeout the run takes it back by itself. 2 s.
    pub timeout_slack: Nanos,
    /// How long a killed worker's exit is waited for before its blocks go on. 5 s.
    pub kill_confirm: Nanos,
    /// How long a worker may at least take from its connection to its first request: to import the
    /// user's module and set it up. A longer timeout of blocks is the bound here too. 600 s.
    pub setup: Nanos,
    /// How long a worker that was told to leave may take, beyond its running blocks. 5 s.
    pub leave_grace: Nanos,
    /// How often silence and deadlines are looked at. 250 ms.
    pub sweep: Nanos,
    /// Pause after a failed start, doubled for each further one. 50 ms.
    pub start_backoff: Nanos,
    /// Longest such pause. 1 s.
    pub start_backoff_max: Nanos,
    /// What a start takes, until one was measured. 150 ms.
    pub start_time: Nanos,
    /// How much work a worker has in hand beyond the running block. 2 ms.
    pub prefetch_time: Nanos,
    /// Mean block time from which nothing is prefetched. 10 ms.
    pub prefetch_none_from: Nanos,
    /// Most blocks in a worker's hands beyond the running ones.
    pub prefetch_max: u32,
    /// How often blocks are taken back for idle workers. 1 ms.
    pub retract_every: Nanos,
    /// Done blocks looked at in one event before others get their turn.
    pub skip_slice: usize,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            silence: Nanos::from_secs(5),
            resume_window: Nanos::from_secs(4),
            timeout_slack: Nanos::from_secs(2),
            kill_confirm: Nanos::from_secs(5),
            setup: Nanos::from_secs(600),
            leave_grace: Nanos::from_secs(5),
            sweep: Nanos::from_millis(250),
            start_backoff: Nanos::from_millis(50),
            start_backoff_max: Nanos::from_secs(1),
            start_time: Nanos::from_millis(150),
            prefetch_time: Nanos::from_millis(2),
            prefetch_none_from: Nanos::from_millis(10),
            prefetch_max: 1024,
            retract_every: Nanos::from_millis(1),
            skip_slice: 1 << 20,
        }
    }
}
