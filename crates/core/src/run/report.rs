//! What the run tells about itself: a look at the moment, and the record of the whole.

use super::snapshot::{RunSnapshot, RunningBlock, TaskReport, TaskSnapshot};
use super::Run;
use crate::TaskIndex;

impl Run {
    /// All counters at this moment. Costs a look at every connection: meant for ten times a second.
    pub fn snapshot(&self) -> RunSnapshot {
        let mut tasks: Vec<TaskSnapshot> = (0..self.tasks.len())
            .map(|at| self.task_snapshot(TaskIndex(at as u32)))
            .collect();
        let mut oldest: Option<RunningBlock> = None;
        for (_, connection) in self.connections.iter() {
            if connection.in_hand.is_empty() {
                if connection.demand > 0 {
                    tasks[connection.task.at()].idle_workers += 1;
                }
                continue;
            }
            // Where nothing was said yet, the first in hand has run since the last result.
            let (block, began) = connection
                .running
                .iter()
                .copied()
                .min_by_key(|(_, began)| *began)
                .unwrap_or((connection.in_hand[0].block, connection.last_progress));
            let age = self.now - began;
            if oldest.is_none_or(|known| known.age < age) {
                let (task, worker) = (connection.task, connection.worker);
                oldest = Some(RunningBlock {
                    task,
                    block,
                    worker,
                    age,
                });
            }
        }
        RunSnapshot {
            tasks,
            oldest_running: oldest,
            outcome: self.outcome().cloned(),
        }
    }

    /// The record of a task: complete once the run has finished.
    pub fn report(&self, task: TaskIndex) -> Option<TaskReport> {
        let state = self.tasks.get(task.at())?;
        Some(TaskReport {
            counters: self.task_snapshot(task),
            failures: state.failures.clone(),
            first_error: state.first_error.clone(),
            last_error: state.last_error.clone(),
            first_worker_error: state.first_worker_error.clone(),
            began: state.began,
            ended: state.ended,
            round_trip: state.round_trip,
            measured: state.measured,
            workers: self.workers.reports(task),
        })
    }

    fn task_snapshot(&self, task: TaskIndex) -> TaskSnapshot {
        let state = &self.tasks[task.at()];
        let counters = self.blocks.counters(task);
        TaskSnapshot {
            total: counters.total,
            ready: counters.ready,
            pending: counters.pending,
            processing: counters.processing,
            completed: counters.completed,
            skipped: counters.skipped,
            failed: counters.failed,
            orphaned: counters.orphaned,
            started: state.began.is_some() || counters.skipped > 0,
            done: self.blocks.is_finished(task),
            abandoned: state.abandoned,
            worker_starts: state.starts,
            worker_restarts: state.restarts(),
            worker_failures: state.worker_failures,
            failed_attempts: state.failed_attempts,
            timeouts: state.timeouts,
            check_errors: state.check_errors,
            starting_workers: state.starting,
            connected_workers: state.connected,
            idle_workers: 0,
            ending_workers: state.live.saturating_sub(state.starting + state.connected),
            waits_for_resources: state.waits_for_resources,
        }
    }
}
