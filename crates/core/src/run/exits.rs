//! Processes: started, not started, killed, over.

use super::actions::{Action, KillReason, Warning};
use super::alarms::Alarm;
use super::workers::EndCause;
use super::{
    ErrorReport, Exit, ExitKind, FailureKind, FailureReport, Outbox, Run, WorkerEnd, WorkerId,
};

impl Run {
    pub(super) fn on_worker_started(
        &mut self,
        worker: WorkerId,
        exit_reported: bool,
        out: &mut Outbox,
    ) {
        let Some(row) = self.workers.get_mut(worker).filter(|row| row.launched) else {
            return;
        };
        if row.exit_reported.is_some() {
            return;
        }
        row.exit_reported = Some(exit_reported);
        if row.killed {
            // The launcher had nothing to stop yet when the order came.
            out.push(Action::KillWorker {
                worker,
                reason: KillReason::NotNeeded,
            });
        }
        let starting = row.is_starting();
        if !exit_reported && !starting && row.conn.is_none() && !row.in_limbo {
            row.process = false;
        }
        self.refresh(worker, out);
    }

    pub(super) fn on_start_failed(
        &mut self,
        worker: WorkerId,
        error: &ErrorReport,
        out: &mut Outbox,
    ) {
        let Some(row) = self
            .workers
            .get_mut(worker)
            .filter(|row| row.launched && row.process)
        else {
            return;
        };
        row.process = false;
        row.exit_reported = Some(false);
        if row.is_starting() {
            self.note_unusable(worker, error);
        }
        self.refresh(worker, out);
    }

    pub(super) fn on_worker_exited(&mut self, worker: WorkerId, exit: &Exit, out: &mut Outbox) {
        let Some(row) = self
            .workers
            .get_mut(worker)
            .filter(|row| row.launched && row.process)
        else {
            return;
        };
        row.process = false;
        row.exit_reported = Some(true);
        row.exit = Some(exit.clone());
        if exit.kind == ExitKind::TimedOut && row.cause.is_none() {
            row.cause = Some(EndCause::TimedOut);
        }
        self.settle_limbo_of(worker, out);
        self.refresh(worker, out);
    }

    /// A worker that can't work, or not any more, and why.
    pub(super) fn note_unusable(&mut self, worker: WorkerId, error: &ErrorReport) {
        let Some(row) = self.workers.get_mut(worker) else {
            return;
        };
        row.cause.get_or_insert(EndCause::Unusable(format!(
            "{}: {}",
            error.name, error.message
        )));
        row.start_error = Some(error.clone());
    }

    pub(super) fn on_connect_timeout(&mut self, worker: WorkerId, out: &mut Outbox) {
        let Some(row) = self.workers.get(worker) else {
            return;
        };
        if !row.is_starting() || row.exit_reported == Some(true) {
            return;
        }
        let waited = (self.now - row.started_at).in_words();
        let error = ErrorReport {
            name: "ConnectTimeout".into(),
            message: format!("worker {} didn't connect within {waited}", worker.0),
            ..ErrorReport::default()
        };
        self.note_unusable(worker, &error);
        self.kill(worker, KillReason::NeverConnected, out);
        if let Some(row) = self.workers.get_mut(worker) {
            row.process = false;
        }
        self.refresh(worker, out);
    }

    /// Has a worker's process stopped. Does nothing twice, and nothing to peers from outside.
    pub(super) fn kill(&mut self, worker: WorkerId, reason: KillReason, out: &mut Outbox) {
        let confirm = self.config.timing.kill_confirm;
        let Some(row) = self.workers.get_mut(worker) else {
            return;
        };
        let gone = !row.process && row.exit_reported != Some(false);
        if !row.launched || row.killed || gone {
            return;
        }
        row.killed = true;
        if row.cause.is_none() {
            row.cause = Some(EndCause::Stopped);
        }
        if row.exit_reported == Some(false) {
            row.process = false;
        } else {
            self.alarms
                .set(self.now + confirm, Alarm::KillConfirm(worker));
        }
        out.push(Action::KillWorker { worker, reason });
    }

    /// A kill wasn't confirmed in time (a process that can't even be killed): no more waiting.
    pub(super) fn on_kill_unconfirmed(&mut self, worker: WorkerId, out: &mut Outbox) {
        if let Some(row) = self.workers.get_mut(worker).filter(|row| row.process) {
            row.process = false;
            self.settle_limbo_of(worker, out);
            self.refresh(worker, out);
        }
    }

    /// A process said goodbye long ago and lives on.
    pub(super) fn on_lingering(&mut self, worker: WorkerId, out: &mut Outbox) {
        let Some(row) = self.workers.get(worker) else {
            return;
        };
        if !row.process || row.conn.is_some() || row.in_limbo {
            return;
        }
        if row.clones > 0 {
            let bound = self.leave_bound(row.task);
            self.alarms.set(self.now + bound, Alarm::Leave(worker));
            return;
        }
        self.kill(worker, KillReason::DidNotLeave, out);
        self.refresh(worker, out);
    }

    /// Notices the end of a worker: its place and its resources are free.
    pub(super) fn refresh(&mut self, worker: WorkerId, out: &mut Outbox) {
        let now = self.now;
        let Some(row) = self.workers.get_mut(worker) else {
            return;
        };
        if !row.alive || row.may_live() {
            return;
        }
        let was_starting = row.is_starting();
        row.alive = false;
        row.ended_at = Some(now);
        let task = row.task;
        let vain = row.launched && row.first_acquire_at.is_none();
        let unasked = vain && row.told_to_leave_at.is_none();
        let (connected_once, failed) = (row.connected_once, row.failed());
        let clean = row.launched && row.end() == WorkerEnd::Clean;
        let state = &mut self.tasks[task.at()];
        state.live -= 1;
        if state.finished {
            state.ended = Some(now);
        }
        if was_starting {
            state.starting -= 1;
            if state.config.paced_starts {
                self.starting_paced -= 1;
            }
        }
        if connected_once {
            self.awaited -= 1;
        }
        self.resources.give_back(task);
        self.rebalance_wanted = true;
        self.touch(task);
        let finished = self.tasks[task.at()].finished;
        if !self.is_running() || finished {
            return;
        }
        if vain {
            self.back_off(task);
        }
        if failed {
            self.note_worker_failure(worker, out);
        }
        let state = &mut self.tasks[task.at()];
        if clean && unasked && !state.warned_of_vain_end {
            state.warned_of_vain_end = true;
            out.push(Action::Warn(Warning::EndedWithoutAsking { task, worker }));
        }
    }

    fn note_worker_failure(&mut self, worker: WorkerId, out: &mut Outbox) {
        let Some(row) = self.workers.get(worker) else {
            return;
        };
        let task = row.task;
        let tail = row.exit.as_ref().and_then(|exit| exit.stderr_tail.clone());
        let mut text = format!("worker {}: {}", worker.0, row.end_in_words());
        if let Some(tail) = &tail {
            text.push('\n');
            text.push_str(tail);
        }
        // A thrown error and a death with a block in hand were told with the block.
        let told = row.blamed || row.cause == Some(EndCause::BlockFailed);
        let kind = match (&row.cause, &row.exit) {
            (Some(EndCause::Unusable(_)), _) if row.first_acquire_at.is_none() => {
                FailureKind::Start
            }
            (_, Some(exit)) if exit.kind.is_dirty() => FailureKind::Exited,
            _ => FailureKind::Lost,
        };
        let error = row.start_error.clone().unwrap_or_else(|| ErrorReport {
            name: "WorkerDied".into(),
            message: format!("worker {} ended: {}", worker.0, row.end_in_words()),
            stack: tail,
            details: None,
        });
        let state = &mut self.tasks[task.at()];
        state.worker_failures += 1;
        state.first_worker_error.get_or_insert(text);
        if told {
            return;
        }
        state.note_error(&error);
        let (block, attempt, permanent, at) = (None, 0, false, self.now);
        let report = FailureReport {
            task,
            block,
            worker,
            attempt,
            at,
            permanent,
            kind,
            error,
        };
        self.tell_failure(report, out);
    }
}
