//! What a serial run knows: the scheduler with its stores, the block that runs, and the figures of each task.

use std::time::Instant;

use bellis_core::run::{
    Distribution, ErrorReport, FailureKind, FailureReport, MeasuredBlocks, Nanos, TaskReport,
    TaskSnapshot, WorkerId,
};
use bellis_core::{BlockIndex, BlockRecord, BlockStats, Scheduler, TaskIndex};
use bellis_net::{Measurement, Meter};
use bellis_tracking::Notice;

use super::flusher::Flusher;
use crate::error::Failure;
use crate::run::config::NativeRunConfig;
use crate::run::convert::{task_state, words, Calendar};
use crate::run::event::NativeRunEvent;
use crate::run::report::{NativeRunResult, NativeTaskState};
use crate::run::{build, notice};

/// Nobody: a serial run has no workers.
const NO_WORKER: WorkerId = WorkerId(u32::MAX);

/// Blocks skipped in one call, so that JavaScript is never kept waiting for long.
const SKIPS_AT_ONCE: usize = 20_000;

/// What there was to take.
pub(super) enum Taken {
    Block(BlockIndex),
    /// None is ready.
    Nothing,
    /// There is more to skip before anything can be said.
    Skipping,
}

/// See the module.
pub struct SerialRun {
    /// Eager: what is done or masked is skipped whether or not its task is asked for a block.
    scheduler: Scheduler,
    /// Whether there may be more to skip.
    skipping: bool,
    flusher: Flusher,
    /// Kept between calls, so that they allocate nothing.
    unchecked: Vec<BlockIndex>,
    tasks: Vec<SerialTask>,
    running: Option<Running>,
    meter: Meter,
    calendar: Calendar,
    epoch: Instant,
    kept_failures: usize,
    /// What opening the stores had to tell, by position of the task.
    notices: Vec<(u32, Notice)>,
}

/// The figures of one task.
#[derive(Default)]
struct SerialTask {
    is_measured: bool,
    began: Option<Nanos>,
    ended: Option<Nanos>,
    /// Blocks skipped when it was last looked.
    skipped: u64,
    failed_attempts: u64,
    check_errors: u64,
    failures: Vec<FailureReport>,
    first_error: Option<ErrorReport>,
    last_error: Option<ErrorReport>,
    round_trip: Distribution,
    measured: MeasuredBlocks,
}

/// The block that runs.
struct Running {
    began: Nanos,
    /// Outermost first.
    measurements: Vec<Measurement>,
    /// Of the first measurement to end.
    stats: Option<BlockStats>,
}

impl SerialRun {
    /// Opens the stores.
    pub(super) fn new(config: &NativeRunConfig) -> Result<Self, Failure> {
        let graph = build::graph(config, false)?;
        let stores = build::open_stores(config)?;
        let tasks = config.tasks.iter().map(|task| SerialTask {
            is_measured: task.resource_tracking,
            ..SerialTask::default()
        });
        let mut scheduler = Scheduler::eager(graph, stores.inputs)?;
        scheduler.set_order(build::order(config));
        Ok(Self {
            scheduler,
            skipping: true,
            flusher: Flusher::new(stores.keepers)?,
            unchecked: Vec::new(),
            tasks: tasks.collect(),
            running: None,
            meter: Meter::default(),
            calendar: Calendar {
                zero: crate::run::unix_seconds(),
            },
            epoch: Instant::now(),
            kept_failures: config.failures_kept as usize,
            notices: stores.notices,
        })
    }

    /// What opening the stores had to tell, once.
    pub(super) fn take_notices(&mut self) -> Vec<NativeRunEvent> {
        std::mem::take(&mut self.notices)
            .iter()
            .map(|(task, store)| notice::of_store(*task, store))
            .collect()
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The figures of a task that the scheduler knows.
    fn of(&mut self, task: TaskIndex) -> &mut SerialTask {
        &mut self.tasks[task.0 as usize]
    }

    pub(super) fn take(&mut self, task: TaskIndex) -> Result<Taken, Failure> {
        if self.skipping {
            self.skipping = self.scheduler.drain_skips(SKIPS_AT_ONCE);
            self.note_skips();
            if self.skipping {
                return Ok(Taken::Skipping);
            }
        }
        let Some(block) = self.next_block(task)? else {
            return Ok(Taken::Nothing);
        };
        self.touch(task);
        Ok(Taken::Block(block))
    }

    /// The next block, which is held then. JavaScript asks the check function of its task about it.
    fn next_block(&mut self, task: TaskIndex) -> Result<Option<BlockIndex>, Failure> {
        if let Some(block) = self.scheduler.acquire(task) {
            return Ok(Some(block));
        }
        self.unchecked.clear();
        if self.scheduler.take_unchecked(task, 1, &mut self.unchecked) == 0 {
            return Ok(None);
        }
        for block in self.unchecked.drain(..) {
            self.scheduler.checked(task, block, false)?;
        }
        Ok(self.scheduler.acquire(task))
    }

    /// Tasks of which blocks were skipped have begun.
    fn note_skips(&mut self) {
        for task in self.scheduler.graph().task_indices() {
            let skipped = self.scheduler.counters(task).skipped;
            let state = &mut self.tasks[task.0 as usize];
            if skipped != std::mem::replace(&mut state.skipped, skipped) {
                self.touch(task);
            }
        }
    }

    /// Something happens to a block of the task now.
    fn touch(&mut self, task: TaskIndex) {
        let now = self.now();
        let state = self.of(task);
        state.began.get_or_insert(now);
        state.ended = Some(now);
    }

    pub(super) fn checked(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        answer: u32,
    ) -> Result<(), Failure> {
        match answer {
            0 => self.scheduler.record_undone(task, block)?,
            1 => {
                self.scheduler.record_done(task, block, None)?;
                self.scheduler.skip(task, block)?;
                self.skipping = true;
            }
            _ => {
                self.scheduler.record_undone(task, block)?;
                self.of(task).check_errors += 1;
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, task: TaskIndex, _block: BlockIndex) {
        let is_measured = self
            .tasks
            .get(task.0 as usize)
            .is_some_and(|task| task.is_measured);
        self.running = Some(Running {
            began: self.now(),
            measurements: if is_measured {
                vec![self.meter.start(false)]
            } else {
                Vec::new()
            },
            stats: None,
        });
    }

    pub(super) fn profile_start(&mut self) {
        if let Some(running) = self.running.as_mut() {
            if !running.measurements.is_empty() {
                running.measurements.push(self.meter.start(false));
            }
        }
    }

    pub(super) fn profile_end(&mut self) {
        // The outermost one is the block's own.
        if let Some(running) = self
            .running
            .as_mut()
            .filter(|running| running.measurements.len() > 1)
        {
            running.end(&mut self.meter);
        }
    }

    pub(super) fn release(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<Option<BlockStats>, Failure> {
        self.flusher.check()?;
        let ended = self.now();
        let mut running = self.running.take();
        if let Some(running) = &mut running {
            while !running.measurements.is_empty() {
                running.end(&mut self.meter);
            }
        }
        let began = running.as_ref().map_or(ended, |running| running.began);
        let stats = running.and_then(|running| running.stats);
        let record = BlockRecord {
            stats,
            worker_id: u32::MAX,
            sent_at: self.calendar.seconds(began),
            returned_at: self.calendar.seconds(ended),
        };
        self.scheduler.record_done(task, block, Some(&record))?;
        self.scheduler.release(task, block)?;
        self.skipping = true;
        let state = self.of(task);
        state.ended = Some(ended);
        state.round_trip.add((ended - began).as_secs_f64());
        if let Some(stats) = &stats {
            add(&mut state.measured, stats);
        }
        Ok(stats)
    }

    pub(super) fn fail(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        error: ErrorReport,
    ) -> Result<(), Failure> {
        self.running = None;
        self.scheduler.fail(task, block)?;
        let (now, kept) = (self.now(), self.kept_failures);
        let state = self.of(task);
        state.ended = Some(now);
        state.failed_attempts += 1;
        state.first_error.get_or_insert_with(|| error.clone());
        state.last_error = Some(error.clone());
        if state.failures.len() < kept {
            state.failures.push(FailureReport {
                task,
                block: Some(block),
                worker: NO_WORKER,
                attempt: 1,
                at: now,
                permanent: true,
                kind: FailureKind::Thrown,
                error,
            });
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), Failure> {
        Ok(self.scheduler.give_back(task, block)?)
    }

    pub(super) fn states(&self) -> Vec<NativeTaskState> {
        let state = |(position, task): (usize, &SerialTask)| NativeTaskState {
            first_error: task.first_error.as_ref().map(words),
            last_error: task.last_error.as_ref().map(words),
            ..task_state(&self.snapshot(position, task))
        };
        self.tasks.iter().enumerate().map(state).collect()
    }

    fn snapshot(&self, position: usize, task: &SerialTask) -> TaskSnapshot {
        let counters = self.scheduler.counters(TaskIndex(position as u32));
        TaskSnapshot {
            total: counters.total,
            ready: counters.ready,
            pending: counters.pending,
            processing: counters.processing,
            completed: counters.completed,
            skipped: counters.skipped,
            failed: counters.failed,
            orphaned: counters.orphaned,
            started: task.began.is_some(),
            done: self.scheduler.is_finished(TaskIndex(position as u32)),
            failed_attempts: task.failed_attempts,
            check_errors: task.check_errors,
            ..TaskSnapshot::default()
        }
    }

    /// Writes and closes the stores, then tells everything.
    pub(super) fn end(mut self, outcome: String) -> Result<NativeRunResult, Failure> {
        let reports: Vec<_> = std::mem::take(&mut self.tasks)
            .into_iter()
            .enumerate()
            .map(|(position, task)| TaskReport {
                counters: self.snapshot(position, &task),
                failures: task.failures,
                first_error: task.first_error,
                last_error: task.last_error,
                first_worker_error: None,
                began: task.began,
                ended: task.ended,
                round_trip: task.round_trip,
                measured: task.measured,
                workers: Vec::new(),
            })
            .collect();
        let written = self.flusher.end();
        // Gives the locks of the stores back.
        drop(self.scheduler);
        written?;
        let measured: Vec<_> = reports
            .iter()
            .map(|report| report.measured.wall_seconds.count() > 0)
            .collect();
        let result = self.calendar.result(&reports, &measured);
        Ok(NativeRunResult { outcome, ..result })
    }
}

impl Running {
    /// Ends the innermost measurement; the first to end counts.
    fn end(&mut self, meter: &mut Meter) {
        let Some(measurement) = self.measurements.pop() else {
            return;
        };
        let stats = meter.stop(&measurement);
        self.stats.get_or_insert(BlockStats {
            wall_seconds: stats.wall_seconds,
            cpu_seconds: stats.cpu_seconds,
            peak_rss_bytes: stats.peak_rss_bytes,
            io_read_bytes: stats.io_read_bytes,
            io_write_bytes: stats.io_write_bytes,
        });
    }
}

fn add(measured: &mut MeasuredBlocks, stats: &BlockStats) {
    measured.wall_seconds.add(stats.wall_seconds);
    measured.cpu_seconds.add(stats.cpu_seconds);
    measured.peak_rss_bytes.add(stats.peak_rss_bytes as f64);
    measured.io_read_bytes.add(stats.io_read_bytes as f64);
    measured.io_write_bytes.add(stats.io_write_bytes as f64);
    measured.max_peak_rss_bytes = measured.max_peak_rss_bytes.max(stats.peak_rss_bytes);
}
