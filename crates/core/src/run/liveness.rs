//! Silence, deadlines, and workers that don't leave.

use super::losses::LossKind;
use super::{ConnectionId, ErrorReport, Nanos, Outbox, Run};
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
        self.sweep_due = None;
        let mut findings: Vec<(ConnectionId, Finding)> = Vec::new();
        for (conn, _) in self.connections.iter() {
            if let Some(finding) = self.inspect(conn) {
                findings.push((conn, finding));
            }
        }
        for (conn, finding) in findings {
            match finding {
                Finding::Lost(kind) => {
                    if kind == LossKind::NeverAsked {
                        self.note_endless_setup(conn);
                    }
                    self.lose(conn, kind, None, &[], out);
                }
                Finding::Late(blocks) => self.lose(conn, LossKind::TimedOut, None, &blocks, out),
                Finding::Unspoken => self.ask_all_back(conn, out),
            }
        }
        if self.connections.open() > 0 {
            self.arm_sweep();
        }
    }

    fn inspect(&self, conn: ConnectionId) -> Option<Finding> {
        let connection = self.connections.get(conn)?;
        let timing = &self.config.timing;
        let now = self.now;
        let over = |since: Nanos, bound: Nanos| now - since >= bound;
        if over(connection.last_heard, timing.silence) {
            return Some(Finding::Lost(LossKind::Silent));
        }
        if connection
            .retracting
            .is_some_and(|asked| over(asked, timing.silence))
        {
            return Some(Finding::Lost(LossKind::NoAnswer));
        }
        let timeout = self.tasks[connection.task.at()].config.timeout + timing.timeout_slack;
        let late: Vec<BlockIndex> = connection
            .certainly_running()
            .filter(|(_, began)| over(*began, timeout))
            .map(|(block, _)| block)
            .collect();
        if !late.is_empty() {
            return Some(Finding::Late(late));
        }
        if let Some(told) = connection.leaving {
            let since = told.max(connection.last_progress);
            let bound = self.leave_bound(connection.task);
            return over(since, bound).then_some(Finding::Lost(LossKind::DidNotLeave));
        }
        let asked = |worker| self.workers.get(worker)?.first_acquire_at;
        if asked(connection.worker).is_none() {
            let bound = self.setup_bound(connection.task);
            return over(connection.last_progress, bound)
                .then_some(Finding::Lost(LossKind::NeverAsked));
        }
        let unspoken = !connection.in_hand.is_empty()
            && connection.certainly_running().next().is_none()
            && connection.retracting.is_none()
            && over(connection.last_progress, timeout);
        match (unspoken, connection.unmoved) {
            (false, _) => None,
            (true, false) => Some(Finding::Unspoken),
            // The second time it takes up a place that another worker could fill.
            (true, true) => Some(Finding::Lost(LossKind::Unmoved)),
        }
    }

    fn setup_bound(&self, task: TaskIndex) -> Nanos {
        let timeout = self.tasks[task.at()].config.timeout;
        timeout.max(self.config.timing.setup)
    }

    fn note_endless_setup(&mut self, conn: ConnectionId) {
        let Some(connection) = self.connections.get(conn) else {
            return;
        };
        let (task, worker) = (connection.task, connection.worker);
        let bound = self.setup_bound(task).as_secs_f64();
        let error = ErrorReport {
            name: "SetupTimeout".into(),
            message: format!(
                "worker {} asked for no block within {bound} s of its connection: the import of its \
                 module or its setup doesn't end",
                worker.0
            ),
            ..ErrorReport::default()
        };
        self.note_unusable(worker, &error);
    }

    /// How long a worker that was told to leave may take: as long as a block may, because its
    /// teardown is the user's code as well.
    pub(super) fn leave_bound(&self, task: TaskIndex) -> Nanos {
        if !self.is_running() && self.outcome != Some(super::Outcome::Finished) {
            // The grace of the stop counts.
            return Nanos::MAX;
        }
        self.tasks[task.at()].config.timeout + self.config.timing.leave_grace
    }
}
