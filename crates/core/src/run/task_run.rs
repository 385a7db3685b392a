//! What a run keeps of one task beside the states of its blocks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};

use super::prefetch::Prefetch;
use super::{
    AbandonReason, ConnectionId, Distribution, ErrorReport, FailureReport, MeasuredBlocks, Nanos,
    TaskConfig,
};
use crate::{BlockIndex, TaskIndex};

/// One task of a run.
#[derive(Debug)]
pub(super) struct TaskRun {
    pub(super) config: TaskConfig,
    /// The tasks right after it.
    pub(super) downstream: Vec<TaskIndex>,
    /// The tasks right before it.
    pub(super) upstream: Vec<TaskIndex>,
    /// Connections that could run a block now.
    pub(super) idle: VecDeque<ConnectionId>,
    /// Connections that could do with more blocks in advance.
    pub(super) hungry: VecDeque<ConnectionId>,
    pub(super) prefetch: Prefetch,
    pub(super) retract_armed: bool,
    /// Something happened that may give it work, or an end.
    pub(super) touched: bool,

    pub(super) connected: u32,
    /// Workers that may be there: starting, connected, or waited for.
    pub(super) live: u32,
    /// Of these told to leave and still connected.
    pub(super) leaving: u32,
    /// Of these asked for and not connected.
    pub(super) starting: u32,
    pub(super) starts: u32,
    /// Starts in a row that came to nothing.
    pub(super) vain_starts: u32,
    pub(super) back_off_until: Nanos,
    pub(super) waits_for_resources: bool,
    pub(super) startup: Distribution,

    /// Blocks that the check function is being asked about.
    pub(super) checking: Vec<BlockIndex>,
    /// Failed blocks whose retry isn't due.
    pub(super) delayed: BinaryHeap<Reverse<(Nanos, BlockIndex)>>,
    /// Blocks that ran together when their worker died; each runs alone next time.
    pub(super) suspects: HashSet<BlockIndex>,

    pub(super) finished: bool,
    pub(super) abandoned: Option<AbandonReason>,
    pub(super) began: Option<Nanos>,
    pub(super) ended: Option<Nanos>,
    /// When a block last came back, or the first one of those that are out was granted.
    pub(super) quiet_since: Nanos,

    pub(super) worker_failures: u32,
    pub(super) failed_attempts: u64,
    pub(super) timeouts: u64,
    pub(super) check_errors: u64,
    pub(super) failures: Vec<FailureReport>,
    pub(super) first_error: Option<ErrorReport>,
    pub(super) last_error: Option<ErrorReport>,
    pub(super) first_worker_error: Option<String>,
    pub(super) warned_of_vain_end: bool,
    pub(super) round_trip: Distribution,
    pub(super) measured: MeasuredBlocks,
}

impl TaskRun {
    pub(super) fn new(
        config: TaskConfig,
        upstream: Vec<TaskIndex>,
        downstream: Vec<TaskIndex>,
    ) -> TaskRun {
        TaskRun {
            config,
            downstream,
            upstream,
            idle: VecDeque::new(),
            hungry: VecDeque::new(),
            prefetch: Prefetch::new(),
            retract_armed: false,
            touched: false,
            connected: 0,
            live: 0,
            leaving: 0,
            starting: 0,
            starts: 0,
            vain_starts: 0,
            back_off_until: Nanos::ZERO,
            waits_for_resources: false,
            startup: Distribution::default(),
            checking: Vec::new(),
            delayed: BinaryHeap::new(),
            suspects: HashSet::new(),
            finished: false,
            abandoned: None,
            began: None,
            ended: None,
            quiet_since: Nanos::ZERO,
            worker_failures: 0,
            failed_attempts: 0,
            timeouts: 0,
            check_errors: 0,
            failures: Vec::new(),
            first_error: None,
            last_error: None,
            first_worker_error: None,
            warned_of_vain_end: false,
            round_trip: Distribution::default(),
            measured: MeasuredBlocks::default(),
        }
    }

    /// Starts that it may have over the whole run.
    pub(super) fn start_budget(&self) -> u32 {
        self.config
            .max_workers
            .saturating_add(self.config.max_worker_restarts)
    }

    /// Starts beyond the first `max_workers`.
    pub(super) fn restarts(&self) -> u32 {
        self.starts.saturating_sub(self.config.max_workers)
    }

    /// Remembers an error of a block or a worker.
    pub(super) fn note_error(&mut self, error: &ErrorReport) {
        if self.first_error.is_none() {
            self.first_error = Some(error.clone());
        }
        self.last_error = Some(error.clone());
    }
}
