//! Connections that end, and the blocks that were in their hands.

use super::actions::{Action, CloseReason, KillReason};
use super::alarms::Alarm;
use super::connections::Connection;
use super::limbo::{Limbo, Verdict};
use super::workers::EndCause;
use super::{ConnectionId, FailureKind, Loss, Nanos, Outbox, Run, WorkerId};
use crate::BlockIndex;

/// Why a connection counts as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossKind {
    /// The worker said goodbye.
    Goodbye,
    /// The connection broke.
    Broken,
    /// Nothing was heard for too long.
    Silent,
    /// A block ran past its deadline.
    TimedOut,
    /// It was told to leave and didn't.
    DidNotLeave,
    /// It didn't answer a retraction.
    NoAnswer,
    /// It asked for blocks and started none.
    Unmoved,
    /// It connected and never asked for a block.
    NeverAsked,
    /// The run is being stopped and its grace is over.
    Stopped,
}

/// What the blocks of a lost connection wait for, and how long at most.
#[derive(Clone, Copy, Debug)]
struct Wait {
    period: Nanos,
    /// The worker may come back.
    resumable: bool,
    /// Whose end settles it.
    death_of: WorkerId,
}

impl Run {
    pub(super) fn on_disconnected(&mut self, conn: ConnectionId, loss: Loss<'_>, out: &mut Outbox) {
        match loss {
            Loss::Goodbye => self.lose(conn, LossKind::Goodbye, None, &[], out),
            Loss::Broken { running } => self.lose(conn, LossKind::Broken, running, &[], out),
        }
    }

    /// A connection is gone. Its blocks are settled now, or when nobody can be running them.
    pub(super) fn lose(
        &mut self,
        conn: ConnectionId,
        kind: LossKind,
        running: Option<&[BlockIndex]>,
        timed_out: &[BlockIndex],
        out: &mut Outbox,
    ) {
        let Some(connection) = self.connections.remove(conn) else {
            return;
        };
        let (task, worker) = (connection.task, connection.worker);
        self.tasks[task.at()].connected -= 1;
        if connection.leaving.is_some() {
            self.tasks[task.at()].leaving -= 1;
        }
        if let Some(reason) = kind.close_reason() {
            out.push(Action::CloseConnection { conn, reason });
        }
        let verdict = self.judge(&connection, kind, running, timed_out, self.now);
        let timed_out = kind == LossKind::TimedOut
            || verdict
                .blamed
                .iter()
                .any(|(_, kind)| *kind == FailureKind::TimedOut);
        self.note_loss(worker, kind, timed_out, connection.leaving.is_some());
        let wait = self.confirmation(&connection, kind, out);
        let limbo = Limbo {
            conn,
            connection,
            kind,
            resumable: wait.is_some_and(|wait| wait.resumable),
            death_of: wait.map_or(worker, |wait| wait.death_of),
            until: wait.map_or(self.now, |wait| self.now + wait.period),
            lost_at: self.now,
            verdict,
        };
        self.touch(task);
        if wait.is_some() {
            self.alarms.set(limbo.until, Alarm::Limbo);
            if let Some(row) = self.workers.get_mut(worker) {
                row.in_limbo = true;
            }
            self.limbo.push(limbo);
        } else {
            self.settle_limbo(limbo, out);
        }
    }

    /// Which blocks are to blame for a loss at this time. Only what ran can be.
    pub(super) fn judge(
        &self,
        connection: &Connection,
        kind: LossKind,
        running: Option<&[BlockIndex]>,
        timed_out: &[BlockIndex],
        lost_at: Nanos,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let blameless = matches!(
            kind,
            LossKind::Goodbye | LossKind::Stopped | LossKind::Unmoved
        );
        if blameless || self.is_interrupted() {
            return verdict;
        }
        let in_hand =
            |block: &BlockIndex| connection.in_hand.iter().any(|held| held.block == *block);
        let quiet = lost_at - connection.last_progress;
        let settled =
            kind != LossKind::Silent && quiet >= self.config.timing.prefetch_time.times(10);
        let mut ran = match running {
            Some(known) => known.iter().copied().filter(in_hand).collect(),
            // Results travel together for a millisecond or two: who has just given some may have done
            // more than is known. Each of its blocks is tried alone.
            None if connection.is_running_unknown(settled) => {
                verdict.suspected = connection.in_hand.iter().map(|held| held.block).collect();
                return verdict;
            }
            None => connection.presumably_running(),
        };
        ran.sort_unstable();
        ran.dedup();
        let mut late: Vec<BlockIndex> = timed_out.iter().copied().filter(in_hand).collect();
        if late.is_empty() {
            let timeout = self.tasks[connection.task.at()].config.timeout;
            let is_late = |block: &BlockIndex| {
                connection
                    .began(*block)
                    .is_some_and(|at| lost_at - at >= timeout)
            };
            late = ran.iter().copied().filter(is_late).collect();
        }
        late.sort_unstable();
        late.dedup();
        if !late.is_empty() {
            verdict.blamed = late
                .into_iter()
                .map(|block| (block, FailureKind::TimedOut))
                .collect();
        } else if ran.len() == 1 {
            verdict.blamed = vec![(ran[0], FailureKind::Lost)];
        } else {
            verdict.suspected = ran;
        }
        verdict
    }

    fn note_loss(&mut self, worker: WorkerId, kind: LossKind, timed_out: bool, leaving: bool) {
        let silence = self.config.timing.silence;
        let Some(row) = self.workers.get_mut(worker) else {
            return;
        };
        row.conn = None;
        let parent = row.parent;
        let cause = match kind {
            _ if timed_out => Some(EndCause::TimedOut),
            LossKind::Goodbye => None,
            // It was on its way out: how it ended, its exit says.
            LossKind::Broken if leaving => None,
            LossKind::DidNotLeave | LossKind::Stopped => Some(EndCause::Stopped),
            _ => Some(EndCause::Lost),
        };
        if row.cause.is_none() {
            row.cause = cause;
            row.silent_for = (kind == LossKind::Silent).then_some(silence);
        }
        if row.exit_reported == Some(false) {
            row.process = false;
        }
        if let Some(parent) = parent.and_then(|parent| self.workers.get_mut(parent)) {
            parent.clones = parent.clones.saturating_sub(1);
        }
    }

    /// What has to be waited for before the blocks may go to somebody else: for how long at most,
    /// and whether the worker may come back in that time.
    fn confirmation(
        &mut self,
        connection: &Connection,
        kind: LossKind,
        out: &mut Outbox,
    ) -> Option<Wait> {
        let timing = self.config.timing;
        let worker = connection.worker;
        let launch = self.launch_of(worker)?;
        let others = self.others_at_work(launch);
        if kind == LossKind::Goodbye || others {
            let bound = self.leave_bound(connection.task);
            self.alarms.set(self.now + bound, Alarm::Leave(launch));
        }
        if kind == LossKind::Goodbye {
            return None;
        }
        if kind == LossKind::Broken && !connection.local {
            let wait = Wait {
                period: timing.resume_window,
                resumable: true,
                death_of: launch,
            };
            return self.is_running().then_some(wait);
        }
        // A launch isn't killed for a clone of its context that died while others are at work. But
        // one that lives and holds blocks must be dead before they go on.
        let harmless = kind == LossKind::Broken || connection.in_hand.is_empty();
        if others && harmless && kind != LossKind::Stopped {
            return None;
        }
        let row = self.workers.get(launch).filter(|row| row.launched)?;
        let (process, reported) = (row.process, row.exit_reported != Some(false));
        self.kill(launch, kind.kill_reason(), out);
        // A process that closed its socket and whose end nobody reports is dead as far as anybody can
        // tell; one that fell silent certainly isn't. When the run is being stopped, nobody gets its
        // blocks, and there is nothing to be seen by waiting.
        let confirmable = process && reported;
        let unseen = !reported && !matches!(kind, LossKind::Broken | LossKind::Stopped);
        let wait = Wait {
            period: timing.kill_confirm,
            resumable: false,
            death_of: launch,
        };
        (connection.local && (confirmable || unseen)).then_some(wait)
    }

    /// The start that a worker goes back to: itself, or the one whose context it shares. A worker
    /// from outside stands for itself.
    fn launch_of(&self, worker: WorkerId) -> Option<WorkerId> {
        let row = self.workers.get(worker)?;
        Some(row.parent.unwrap_or(worker))
    }

    /// Whether some worker of a start is connected.
    pub(super) fn others_at_work(&self, launch: WorkerId) -> bool {
        self.workers
            .get(launch)
            .is_some_and(|row| row.conn.is_some() || row.clones > 0)
    }
}

impl LossKind {
    fn kill_reason(self) -> KillReason {
        match self {
            LossKind::TimedOut => KillReason::TimedOut,
            LossKind::DidNotLeave => KillReason::DidNotLeave,
            LossKind::Stopped => KillReason::Interrupted,
            _ => KillReason::Lost,
        }
    }

    /// How the peer's connection is closed, where it isn't closed already.
    fn close_reason(self) -> Option<CloseReason> {
        match self {
            LossKind::Goodbye | LossKind::Broken => None,
            LossKind::Silent => Some(CloseReason::Silent),
            LossKind::TimedOut => Some(CloseReason::TimedOut),
            LossKind::DidNotLeave | LossKind::Stopped => Some(CloseReason::DidNotLeave),
            LossKind::NoAnswer | LossKind::Unmoved | LossKind::NeverAsked => {
                Some(CloseReason::NoAnswer)
            }
        }
    }
}
