//! What a failed attempt leads to: another one, at once or later, or the end of the block.

use std::cmp::Reverse;

use super::actions::Action;
use super::alarms::Alarm;
use super::{ErrorReport, FailureKind, FailureReport, Nanos, Outbox, Outcome, Run, WorkerId};
use crate::{BlockIndex, TaskIndex};

/// Failures told in one second.
const TOLD_PER_SECOND: u32 = 50;
/// Retry delays are doubled up to this many times.
const MAX_DOUBLINGS: u32 = 20;

impl Run {
    /// An attempt at a block in somebody's hands has failed and counts.
    pub(super) fn fail_attempt(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        worker: WorkerId,
        kind: FailureKind,
        error: ErrorReport,
        out: &mut Outbox,
    ) {
        let at = task.at();
        if !self.blocks.is_held(task, block) {
            return;
        }
        if let Err(refused) = self.blocks.record_failure(task, block) {
            self.blocks.give_back(task, block);
            self.fail(refused, out);
            return;
        }
        let base = self.tasks[at].config.retry_delay;
        let delayed = base > Nanos::ZERO && self.is_running();
        let attempt = self.blocks.failed_attempts(task, block).saturating_add(1);
        let permanent = !self.blocks.fail(task, block, delayed);
        if delayed && !permanent {
            let doubled = base.times(1 << (attempt - 1).min(MAX_DOUBLINGS));
            let delay = Nanos((doubled.0 as f64 * self.random.jitter()) as u64);
            let due = self.now + delay;
            self.tasks[at].delayed.push(Reverse((due, block)));
            self.alarms.set(due, Alarm::Retries);
        }
        let state = &mut self.tasks[at];
        // What ended its worker once may do so again, and shouldn't have company then.
        if matches!(kind, FailureKind::Thrown) || permanent {
            state.suspects.remove(&block);
        } else {
            state.suspects.insert(block);
        }
        state.failed_attempts += 1;
        if kind == FailureKind::TimedOut {
            state.timeouts += 1;
        }
        state.note_error(&error);
        let at_now = self.now;
        let report = FailureReport {
            task,
            block: Some(block),
            worker,
            attempt,
            at: at_now,
            permanent,
            kind,
            error,
        };
        if permanent && state.failures.len() < self.config.kept_failures {
            state.failures.push(report.clone());
        }
        self.tell_failure(report, out);
        self.touch(task);
        if permanent {
            self.failed_blocks += 1;
            // Blocks that waited for it are orphans now, in any task after this one.
            self.touch_all();
            let limit = self.config.max_failures.unwrap_or(u64::MAX);
            if self.failed_blocks >= limit {
                self.stop(Outcome::FailureLimit, self.config.shutdown_grace, out);
            }
        }
    }

    /// Failed blocks whose delay is over go back into their queues.
    pub(super) fn release_retries(&mut self) {
        for at in 0..self.tasks.len() {
            let task = TaskIndex(at as u32);
            while let Some(Reverse((due, block))) = self.tasks[at].delayed.peek().copied() {
                if due > self.now {
                    break;
                }
                self.tasks[at].delayed.pop();
                self.blocks.retry_now(task, block);
                self.touch(task);
            }
        }
    }

    pub(super) fn tell_failure(&mut self, report: FailureReport, out: &mut Outbox) {
        let (since, told) = &mut self.told_failures;
        if self.now - *since >= Nanos::from_secs(1) {
            (*since, *told) = (self.now, 0);
        }
        if *told < TOLD_PER_SECOND {
            *told += 1;
            out.push(Action::Failed(Box::new(report)));
        }
    }
}
