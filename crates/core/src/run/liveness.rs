//! Silence, deadlines, and workers that don't leave.

use super::losses::LossKind;
use super::{ConnectionId, Nanos, Outbox, Run};
use crate::{BlockIndex, TaskIndex};

/// What a look at a connection found.
enum Finding {
    Lost(LossKind),
    Late(Vec<BlockIndex>),
    /// It has blocks, and hasn't said for too long that it runs one.
    Unspoken,
}

impl Run {
    /// Looks at every connection.
    pub(super) fn sweep(&mut self, out: &mut Outbox) {
        let Some(due) = self.sweep_due.take() else {
            return;
        };
        // When the driver itself was held up, its peers' messages lie unread: their silence means
        // nothing until the next look.
        let held_up = self.now - due > self.config.timing.sweep;
        let mut findings: Vec<(ConnectionId, Finding)> = Vec::new();
        for (conn, _) in self.connections.iter() {
            if let Some(finding) = self.inspect(conn, held_up) {
                findings.push((conn, finding));
            }
        }
        for (conn, finding) in findings {
            match finding {
                Finding::Lost(kind) => self.lose(conn, kind, None, &[], out),
                Finding::Late(blocks) => self.lose(conn, LossKind::TimedOut, None, &blocks, out),
                Finding::Unspoken => self.ask_all_back(conn, out),
            }
        }
        if self.connections.open() > 0 {
            self.arm_sweep();
        }
    }

    fn inspect(&self, conn: ConnectionId, held_up: bool) -> Option<Finding> {
        let connection = self.connections.get(conn)?;
        let timing = &self.config.timing;
        let now = self.now;
        let over = |since: Nanos, bound: Nanos| now - since >= bound;
        if !held_up && over(connection.last_heard, timing.silence) {
            return Some(Finding::Lost(LossKind::Silent));
        }
        if !held_up
            && connection
                .retracting
                .is_some_and(|asked| over(asked, timing.silence))
        {
            return Some(Finding::Lost(LossKind::NoAnswer));
        }
        let timeout = self.tasks[connection.task.at()].config.timeout + timing.timeout_slack;
        let late: Vec<BlockIndex> = connection
            .running
            .iter()
            .filter(|(_, began)| over(*began, timeout))
            .map(|(block, _)| *block)
            .collect();
        if !late.is_empty() {
            return Some(Finding::Late(late));
        }
        if let Some(told) = connection.leaving {
            let since = told.max(connection.last_progress);
            let bound = self.leave_bound(connection.task);
            return over(since, bound).then_some(Finding::Lost(LossKind::DidNotLeave));
        }
        let unspoken = !connection.in_hand.is_empty()
            && connection.running.is_empty()
            && connection.retracting.is_none()
            && over(connection.last_progress, timeout);
        unspoken.then_some(Finding::Unspoken)
    }

    /// How long a worker that was told to leave may take: as long as a block may, because its
    /// teardown is the user's code as well.
    pub(super) fn leave_bound(&self, task: TaskIndex) -> Nanos {
        if self.is_interrupted() {
            return self.config.shutdown_grace;
        }
        self.tasks[task.at()].config.timeout + self.config.timing.leave_grace
    }
}
