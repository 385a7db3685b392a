//! Blocks that come back: finished, failed, or untouched.

use super::actions::ShutdownReason;
use super::losses::LossKind;
use super::workers::EndCause;
use super::{
    BlockResult, BlockStatus, ConnectionId, ErrorReport, FailureKind, Nanos, OnBlockError, Outbox,
    Run, RunError, WorkerId,
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
        let epoch = self.config.unix_seconds_at_zero;
        let (mut finished, mut spent) = (0, Nanos::ZERO);
        let mut failed: Vec<&BlockResult> = Vec::new();
        let mut timed_out: Vec<BlockIndex> = Vec::new();
        let mut error = None;
        for result in results {
            if result.status == BlockStatus::TimedOut {
                // Held until the worker is known to be dead.
                if connection
                    .in_hand
                    .iter()
                    .any(|held| held.block == result.block)
                {
                    timed_out.push(result.block);
                }
                continue;
            }
            let Some(held) = connection.drop_block(result.block) else {
                continue;
            };
            let began = connection.clock.map(result.started, held.granted, now);
            let ended = connection.clock.map(result.ended, began, now);
            row.record_block(began, ended);
            finished += 1;
            spent = spent + (ended - began);
            if result.status == BlockStatus::Failed {
                failed.push(result);
                continue;
            }
            if state.config.resource_tracking && result.stats.is_none() {
                self.blocks.give_back(task, result.block);
                error = Some(RunError::NoMeasurements {
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
                error = Some(refused);
                break;
            }
            if !state.suspects.is_empty() {
                state.suspects.remove(&result.block);
            }
            state.round_trip.add((ended - began).as_secs_f64());
            if let Some(stats) = &result.stats {
                state.measured.add(stats);
            }
        }
        if finished > 0 {
            connection.last_progress = now;
            connection.unmoved = false;
            state.quiet_since = now;
            state.prefetch.observe(finished, spent, &self.config.timing);
            self.skips_pending = true;
        }
        if let Some(error) = error {
            for result in failed {
                self.blocks.give_back(task, result.block);
            }
            self.fail(error, out);
            return;
        }
        for result in failed {
            self.on_thrown(conn, task, worker, result, out);
        }
        if !timed_out.is_empty() {
            self.lose(conn, LossKind::TimedOut, None, &timed_out, out);
        }
        self.queue_up(conn);
        self.touch(task);
        self.touch_downstream(task);
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
