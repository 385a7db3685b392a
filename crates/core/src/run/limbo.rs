//! Blocks of lost connections: they wait until nobody can be running them, then go where they belong.

use super::actions::KillReason;
use super::connections::Connection;
use super::losses::LossKind;
use super::workers::EndCause;
use super::{ConnectionId, ErrorReport, ExitKind, FailureKind, Nanos, Outbox, Run, WorkerId};
use crate::{BlockIndex, TaskIndex};

/// A lost connection whose blocks wait: for the death of the worker to be confirmed, or for the
/// worker to come back.
#[derive(Debug)]
pub(super) struct Limbo {
    pub(super) conn: ConnectionId,
    pub(super) connection: Connection,
    pub(super) kind: LossKind,
    pub(super) resumable: bool,
    /// Whose end settles it.
    pub(super) death_of: WorkerId,
    pub(super) until: Nanos,
    pub(super) lost_at: Nanos,
    pub(super) verdict: Verdict,
}

/// What the blocks of a lost connection will have come to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Ran, and lose a try.
    pub(super) blamed: Vec<(BlockIndex, FailureKind)>,
    /// Ran together, and one of them is to blame.
    pub(super) suspected: Vec<BlockIndex>,
}

impl Run {
    /// The blocks of a lost connection go where they belong.
    pub(super) fn settle_limbo(&mut self, limbo: Limbo, out: &mut Outbox) {
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
        let how = row.loss_in_words();
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
