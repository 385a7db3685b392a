//! Connections that end, and the blocks that were in their hands.

use super::actions::{Action, CloseReason, KillReason};
use super::alarms::Alarm;
use super::connections::Connection;
use super::workers::EndCause;
use super::{ConnectionId, ErrorReport, ExitKind, FailureKind, Loss, Nanos, Outbox, Run, WorkerId};
use crate::{BlockIndex, TaskIndex};

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
    /// The run is being stopped and its grace is over.
    Stopped,
}

/// A lost connection whose blocks wait: for the death of the worker to be confirmed, or for the
/// worker to come back.
#[derive(Debug)]
pub(super) struct Limbo {
    pub(super) conn: ConnectionId,
    pub(super) connection: Connection,
    pub(super) resumable: bool,
    death_of: WorkerId,
    until: Nanos,
    lost_at: Nanos,
    verdict: Verdict,
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

/// What the blocks of a lost connection will have come to.
#[derive(Debug, Default)]
struct Verdict {
    /// Ran, and lose a try.
    blamed: Vec<(BlockIndex, FailureKind)>,
    /// Ran together, and one of them is to blame.
    suspected: Vec<BlockIndex>,
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
        let verdict = self.judge(&connection, kind, running, timed_out);
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

    /// Which blocks are to blame. Only what ran can be.
    fn judge(
        &self,
        connection: &Connection,
        kind: LossKind,
        running: Option<&[BlockIndex]>,
        timed_out: &[BlockIndex],
    ) -> Verdict {
        let mut verdict = Verdict::default();
        if matches!(kind, LossKind::Goodbye | LossKind::Stopped) || self.is_interrupted() {
            return verdict;
        }
        let in_hand =
            |block: &BlockIndex| connection.in_hand.iter().any(|held| held.block == *block);
        let mut ran = match running {
            Some(known) => known.iter().copied().filter(in_hand).collect(),
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
                    .is_some_and(|at| self.now - at >= timeout)
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
        // tell; one that fell silent certainly isn't.
        let confirmable = process && reported;
        let unseen = !reported && kind != LossKind::Broken;
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
    fn others_at_work(&self, launch: WorkerId) -> bool {
        self.workers
            .get(launch)
            .is_some_and(|row| row.conn.is_some() || row.clones > 0)
    }

    /// The blocks of a lost connection go where they belong.
    fn settle_limbo(&mut self, limbo: Limbo, out: &mut Outbox) {
        let Limbo {
            connection,
            verdict,
            lost_at,
            death_of,
            ..
        } = limbo;
        let (task, worker) = (connection.task, connection.worker);
        if let Some(row) = self.workers.get_mut(worker) {
            row.in_limbo = false;
        }
        if limbo.resumable {
            self.kill_remote(death_of, out);
        }
        let unblamed: Vec<BlockIndex> = connection
            .in_hand
            .iter()
            .map(|held| held.block)
            .filter(|block| !verdict.blamed.iter().any(|(blamed, _)| blamed == block))
            .collect();
        self.tasks[task.at()].suspects.extend(&verdict.suspected);
        self.give_back_all(task, &unblamed);
        for (block, kind) in verdict.blamed {
            self.blame(task, &connection, block, kind, lost_at, out);
        }
        self.touch(task);
        self.refresh(worker, out);
        if death_of != worker {
            self.refresh(death_of, out);
        }
    }

    fn blame(
        &mut self,
        task: TaskIndex,
        connection: &Connection,
        block: BlockIndex,
        kind: FailureKind,
        lost_at: Nanos,
        out: &mut Outbox,
    ) {
        let worker = connection.worker;
        if self.is_interrupted() {
            self.blocks.give_back(task, block);
            return;
        }
        let Some(row) = self.workers.get_mut(worker) else {
            return;
        };
        let granted = connection.in_hand.iter().find(|held| held.block == block);
        let granted = granted.map_or(lost_at, |held| held.granted);
        let began = connection
            .began(block)
            .unwrap_or(granted.max(row.free_since));
        row.record_block(began.min(lost_at), lost_at);
        row.blamed = true;
        let exit = row.exit.as_ref();
        let kind = match (kind, exit.map(|exit| exit.kind)) {
            (FailureKind::TimedOut, _) | (_, Some(ExitKind::TimedOut)) => FailureKind::TimedOut,
            (_, Some(ExitKind::Code(_) | ExitKind::Signal(_) | ExitKind::OutOfMemory)) => {
                FailureKind::Exited
            }
            (kind, _) => kind,
        };
        if kind == FailureKind::TimedOut && row.cause == Some(EndCause::Lost) {
            row.cause = Some(EndCause::TimedOut);
        }
        let how = exit.map_or("its connection was lost", |exit| exit.description.as_str());
        let (name, message) = match kind {
            FailureKind::TimedOut => {
                let seconds = self.tasks[task.at()].config.timeout.as_secs_f64();
                (
                    "BlockTimeout",
                    format!("the block ran longer than its timeout of {seconds} s"),
                )
            }
            _ => (
                "WorkerDied",
                format!("worker {} ended while it ran the block: {how}", worker.0),
            ),
        };
        let stack = exit.and_then(|exit| exit.stderr_tail.clone());
        let error = ErrorReport {
            name: name.into(),
            message,
            stack,
            details: None,
        };
        self.fail_attempt(task, block, worker, kind, error, out);
    }

    /// The time of some lost connection may be over.
    pub(super) fn settle_due_limbo(&mut self, out: &mut Outbox) {
        let now = self.now;
        while let Some(at) = self.limbo.iter().position(|limbo| limbo.until <= now) {
            let limbo = self.limbo.swap_remove(at);
            self.settle_limbo(limbo, out);
        }
    }

    /// The worker's process is over: nobody runs its blocks any more.
    pub(super) fn settle_limbo_of(&mut self, worker: WorkerId, out: &mut Outbox) {
        while let Some(at) = self.limbo.iter().position(|limbo| limbo.death_of == worker) {
            let limbo = self.limbo.swap_remove(at);
            self.settle_limbo(limbo, out);
        }
    }

    /// Everything that waits is settled: the run is being stopped for good.
    pub(super) fn forget_returns(&mut self, out: &mut Outbox) {
        while let Some(at) = self.limbo.iter().position(|limbo| limbo.resumable) {
            let limbo = self.limbo.swap_remove(at);
            self.settle_limbo(limbo, out);
        }
    }

    /// A remote worker didn't come back: its job is of no use any more.
    fn kill_remote(&mut self, launch: WorkerId, out: &mut Outbox) {
        if !self.others_at_work(launch) {
            self.kill(launch, KillReason::Lost, out);
        }
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
            LossKind::NoAnswer => Some(CloseReason::NoAnswer),
        }
    }
}
