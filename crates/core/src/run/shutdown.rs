//! The end of a task, of the run, and of the user's patience.

use super::actions::{Action, ShutdownReason};
use super::alarms::Alarm;
use super::losses::LossKind;
use super::{ConnectionId, Nanos, Outbox, Outcome, Run, RunError};
use crate::TaskIndex;

/// Interrupts closer together than this are one (a terminal and a wrapper both pass them on).
const SAME_INTERRUPT: Nanos = Nanos::from_secs(1);

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Blocks are handed out.
    Running,
    /// It was stopped early: what runs may finish, until the grace is over.
    Stopping,
    /// All tasks are finished; workers are leaving.
    Leaving,
    /// Nothing is waited for.
    Over,
}

impl Run {
    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether failures are the interrupt's doing and cost no try.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted_at.is_some() || matches!(self.outcome, Some(Outcome::Failed(_)))
    }

    /// What peers are told when the run doesn't need them any more.
    pub(super) fn farewell(&self) -> ShutdownReason {
        match self.outcome {
            Some(Outcome::Interrupted) => ShutdownReason::Interrupted,
            Some(Outcome::FailureLimit | Outcome::Failed(_)) => ShutdownReason::RunStopped,
            Some(Outcome::Finished) | None => ShutdownReason::RunFinished,
        }
    }

    pub(super) fn on_interrupt(&mut self, out: &mut Outbox) {
        match self.interrupted_at {
            Some(first) if self.now - first >= SAME_INTERRUPT => self.on_abort(out),
            Some(_) => {}
            None => {
                self.interrupted_at = Some(self.now);
                // Those who are leaving already have no longer than the others.
                self.alarms
                    .set(self.now + self.config.shutdown_grace, Alarm::Grace);
                self.stop(Outcome::Interrupted, self.config.shutdown_grace, out);
            }
        }
    }

    pub(super) fn on_abort(&mut self, out: &mut Outbox) {
        self.interrupted_at.get_or_insert(self.now);
        self.stop(Outcome::Interrupted, Nanos::ZERO, out);
        self.end_grace(out);
    }

    /// Going on is impossible.
    pub(super) fn fail(&mut self, error: RunError, out: &mut Outbox) {
        if self.phase == Phase::Over || matches!(self.outcome, Some(Outcome::Failed(_))) {
            return;
        }
        if self.is_running() {
            self.stop(Outcome::Failed(error), Nanos::ZERO, out);
        } else {
            self.outcome = Some(Outcome::Failed(error));
        }
        self.end_grace(out);
    }

    /// Hands out nothing more, and lets what runs finish for a while.
    pub(super) fn stop(&mut self, outcome: Outcome, grace: Nanos, out: &mut Outbox) {
        if !self.is_running() {
            return;
        }
        self.phase = Phase::Stopping;
        self.outcome = Some(outcome);
        self.send_all_home(out);
        self.alarms.set(self.now + grace, Alarm::Grace);
    }

    fn send_all_home(&mut self, out: &mut Outbox) {
        let reason = self.farewell();
        let all: Vec<ConnectionId> = self.connections.iter().map(|(conn, _)| conn).collect();
        for conn in all {
            self.tell_to_leave(conn, reason, out);
        }
        self.kill_starters(None, out);
        self.forget_returns(out);
    }

    /// Whoever is still there has had its time.
    pub(super) fn end_grace(&mut self, out: &mut Outbox) {
        if !matches!(self.phase, Phase::Stopping | Phase::Leaving) {
            return;
        }
        let all: Vec<ConnectionId> = self.connections.iter().map(|(conn, _)| conn).collect();
        for conn in all {
            self.lose(conn, LossKind::Stopped, None, &[], out);
        }
        self.forget_returns(out);
        let lingering: Vec<_> = self
            .workers
            .iter()
            .filter(|(_, row)| row.alive && row.connected_once)
            .map(|(worker, _)| worker)
            .collect();
        for worker in lingering {
            self.kill(worker, super::KillReason::Interrupted, out);
            self.refresh(worker, out);
        }
    }

    /// Every block of the task has reached its end.
    pub(super) fn finish_task(&mut self, task: TaskIndex, out: &mut Outbox) {
        let state = &mut self.tasks[task.at()];
        state.finished = true;
        if state.began.is_some() {
            state.ended = Some(self.now);
        }
        out.push(Action::TaskFinished { task });
        let workers: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.task == task)
            .map(|(conn, _)| conn)
            .collect();
        for conn in workers {
            self.tell_to_leave(conn, ShutdownReason::TaskFinished, out);
        }
        self.kill_starters(Some(task), out);
        self.touch_downstream(task);
        self.rebalance_wanted = true;
    }

    /// Tells a worker to leave, once.
    pub(super) fn tell_to_leave(
        &mut self,
        conn: ConnectionId,
        reason: ShutdownReason,
        out: &mut Outbox,
    ) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        if connection.leaving.is_some() {
            return;
        }
        connection.leaving = Some(now);
        self.tasks[connection.task.at()].leaving += 1;
        if let Some(row) = self.workers.get_mut(connection.worker) {
            row.told_to_leave_at = Some(now);
        }
        out.push(Action::Shutdown { conn, reason });
    }

    /// Notices that all tasks are finished, and that nobody is waited for any more.
    pub(super) fn check_end(&mut self, out: &mut Outbox) {
        if self.is_running() && self.tasks.iter().all(|task| task.finished) {
            self.phase = Phase::Leaving;
            self.outcome = Some(Outcome::Finished);
            self.send_all_home(out);
        }
        let leaving = matches!(self.phase, Phase::Stopping | Phase::Leaving);
        let nobody = self.connections.open() == 0 && self.limbo.is_empty() && self.awaited == 0;
        if leaving && nobody {
            self.phase = Phase::Over;
            self.alarms.clear();
            out.push(Action::Finished);
        }
    }
}
