//! Blocks that come back: finished, failed, or untouched.

use super::actions::ShutdownReason;
use super::blocks::Blocks;
use super::connections::Connection;
use super::losses::LossKind;
use super::task_run::TaskRun;
use super::workers::{EndCause, Worker};
use super::{
    BlockResult, BlockStatus, ConnectionId, ErrorReport, FailureKind, Nanos, OnBlockError, Outbox,
    Run, RunConfig, RunError, WorkerId,
};
use crate::{BlockIndex, BlockRecord, BlockStats, TaskIndex};

/// Name of the error of a block whose function set the status to failed and returned.
const FAILED_WITHOUT_ERROR: &str = "BlockFailed";

impl Run {
    pub(super) fn on_released(
        &mut self,
        conn: ConnectionId,
        results: &[BlockResult],
        out: &mut Outbox,
    ) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        let (task, worker) = (connection.task, connection.worker);
        let (Some(state), Some(row)) =
            (self.tasks.get_mut(task.at()), self.workers.get_mut(worker))
        else {
            return;
        };
        connection.last_heard = now;
        if let Some(last) = results.last().filter(|_| connection.clock.is_vague()) {
            connection.clock.observe(now, last.ended, None);
        }
        let mut ledger = Ledger {
            now,
            config: &self.config,
            blocks: &mut self.blocks,
            task,
            state,
            worker,
            row,
        };
        let entries = ledger.enter(connection, results);
        self.skips_pending |= entries.finished > 0;
        let timed_out = entries.timed_out.clone();
        if !self.conclude(conn, task, worker, entries, out) {
            return;
        }
        if !timed_out.is_empty() {
            self.lose(conn, LossKind::TimedOut, None, &timed_out, out);
        }
        self.queue_up(conn);
        self.touch(task);
        self.touch_downstream(task);
    }

    /// Results were entered: what follows from failures among them. False when the run has failed.
    pub(super) fn conclude(
        &mut self,
        conn: ConnectionId,
        task: TaskIndex,
        worker: WorkerId,
        entries: Entries<'_>,
        out: &mut Outbox,
    ) -> bool {
        if let Some(error) = entries.error {
            for result in entries.failed {
                self.blocks.give_back(task, result.block);
            }
            self.fail(error, out);
            return false;
        }
        for result in entries.failed {
            self.on_thrown(conn, task, worker, result, out);
        }
        true
    }

    fn on_thrown(
        &mut self,
        conn: ConnectionId,
        task: TaskIndex,
        worker: WorkerId,
        result: &BlockResult,
        out: &mut Outbox,
    ) {
        if self.is_interrupted() {
            self.blocks.give_back(task, result.block);
            return;
        }
        let error = match &result.error {
            Some(error) => (**error).clone(),
            None => ErrorReport {
                name: FAILED_WITHOUT_ERROR.into(),
                message: "the block was reported as failed, without an error".into(),
                ..ErrorReport::default()
            },
        };
        // a block that was called failed without a throw says nothing against its worker
        let thrown = error.name != FAILED_WITHOUT_ERROR;
        self.fail_attempt(task, result.block, worker, FailureKind::Thrown, error, out);
        let restart = self.tasks[task.at()].config.on_block_error == OnBlockError::RestartWorker;
        if thrown && restart && !self.config.serial {
            if let Some(row) = self.workers.get_mut(worker) {
                row.cause.get_or_insert(EndCause::BlockFailed);
            }
            self.tell_to_leave(conn, ShutdownReason::BlockFailed, out);
        }
    }

    pub(super) fn on_returned(&mut self, conn: ConnectionId, blocks: &[BlockIndex]) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        connection.last_heard = now;
        let task = connection.task;
        let answered = connection.retracting.take().is_some();
        let mut returned = Vec::new();
        for block in blocks {
            if connection.drop_block(*block).is_some() {
                returned.push(*block);
            }
        }
        if answered {
            for held in &mut connection.in_hand {
                if std::mem::take(&mut held.retracting) {
                    held.started_by.get_or_insert(now);
                }
            }
        } else if !returned.is_empty() {
            // It has a reason not to want them. Until it asks again it gets no others, or the same
            // blocks would go to and fro for ever.
            connection.demand = 0;
        }
        self.give_back_all(task, &returned);
        if self
            .connections
            .get(conn)
            .is_some_and(|peer| peer.idle_capacity() > 0)
        {
            self.queue_up(conn);
        }
        self.touch(task);
    }
}

/// Where results are written down: the states of blocks, and the accounts of a task and a worker.
pub(super) struct Ledger<'a> {
    pub(super) now: Nanos,
    pub(super) config: &'a RunConfig,
    pub(super) blocks: &'a mut Blocks,
    pub(super) task: TaskIndex,
    pub(super) state: &'a mut TaskRun,
    pub(super) worker: WorkerId,
    pub(super) row: &'a mut Worker,
}

/// What was entered, and what wasn't but has to be seen to.
#[derive(Default)]
pub(super) struct Entries<'r> {
    /// Blocks that came to an end.
    pub(super) finished: usize,
    failed: Vec<&'r BlockResult>,
    /// Blocks past their deadlines, which stay in hand.
    pub(super) timed_out: Vec<BlockIndex>,
    /// Something that couldn't be written down.
    error: Option<RunError>,
}

impl Ledger<'_> {
    /// Enters the results of blocks that the connection has in hand, and takes them out of its hands.
    pub(super) fn enter<'r>(
        &mut self,
        connection: &mut Connection,
        results: &'r [BlockResult],
    ) -> Entries<'r> {
        let (task, worker, now) = (self.task, self.worker, self.now);
        let epoch = self.config.unix_seconds_at_zero;
        let mut entries = Entries::default();
        let mut spent = Nanos::ZERO;
        for result in results {
            if result.status == BlockStatus::TimedOut {
                // Held until the worker is known to be dead.
                if connection
                    .in_hand
                    .iter()
                    .any(|held| held.block == result.block)
                {
                    entries.timed_out.push(result.block);
                }
                continue;
            }
            let Some(held) = connection.drop_block(result.block) else {
                continue;
            };
            let said = (result.started, result.ended);
            let (began, ended) = connection.clock.span(said, held.granted, now);
            self.row.record_block(began, ended);
            entries.finished += 1;
            spent = spent + (ended - began);
            if result.status == BlockStatus::Failed {
                entries.failed.push(result);
                continue;
            }
            if self.state.config.resource_tracking && result.stats.is_none() {
                self.blocks.give_back(task, result.block);
                entries.error = Some(RunError::NoMeasurements {
                    task,
                    block: result.block,
                });
                break;
            }
            let record = BlockRecord {
                stats: result.stats,
                worker_id: worker.0,
                sent_at: epoch + began.as_secs_f64(),
                returned_at: epoch + ended.as_secs_f64(),
            };
            if let Err(refused) = self.blocks.complete(task, result.block, &record) {
                self.blocks.give_back(task, result.block);
                entries.error = Some(refused);
                break;
            }
            if !self.state.suspects.is_empty() {
                self.state.suspects.remove(&result.block);
            }
            self.state.round_trip.add((ended - began).as_secs_f64());
            if let Some(stats) = &result.stats {
                self.state.measured.add(stats);
            }
        }
        if entries.finished > 0 {
            connection.last_progress = now;
            connection.unmoved = false;
            self.state.quiet_since = now;
            let timing = &self.config.timing;
            self.state.prefetch.observe(entries.finished, spent, timing);
        }
        entries
    }
}

impl super::MeasuredBlocks {
    fn add(&mut self, stats: &BlockStats) {
        self.wall_seconds.add(stats.wall_seconds);
        self.cpu_seconds.add(stats.cpu_seconds);
        self.peak_rss_bytes.add(stats.peak_rss_bytes as f64);
        self.io_read_bytes.add(stats.io_read_bytes as f64);
        self.io_write_bytes.add(stats.io_write_bytes as f64);
        self.max_peak_rss_bytes = self.max_peak_rss_bytes.max(stats.peak_rss_bytes);
    }
}
