//! What a lost worker had written down, read after its death: it says what really ran.

use super::limbo::Limbo;
use super::losses::LossKind;
use super::releases::Ledger;
use super::{BlockResult, ConnectionId, Outbox, Run};
use crate::BlockIndex;

impl Run {
    /// The blocks of a connection that is waited for are judged again by what its worker wrote down.
    pub(super) fn on_last_words(
        &mut self,
        conn: ConnectionId,
        results: &[BlockResult],
        running: Option<&[BlockIndex]>,
        out: &mut Outbox,
    ) {
        let waits = |limbo: &Limbo| limbo.conn == conn && !limbo.resumable;
        let Some(at) = self.limbo.iter().position(waits) else {
            return;
        };
        let mut limbo = self.limbo.swap_remove(at);
        let (task, worker) = (limbo.connection.task, limbo.connection.worker);
        // What was reclaimed for running too long has lost its try, whatever came of it later.
        let mut late: Vec<BlockIndex> = match limbo.kind {
            LossKind::TimedOut => limbo
                .verdict
                .blamed
                .iter()
                .map(|(block, _)| *block)
                .collect(),
            _ => Vec::new(),
        };
        let in_time: Vec<BlockResult> = results
            .iter()
            .filter(|result| !late.contains(&result.block))
            .cloned()
            .collect();
        let (Some(state), Some(row)) =
            (self.tasks.get_mut(task.at()), self.workers.get_mut(worker))
        else {
            self.limbo.push(limbo);
            return;
        };
        let mut ledger = Ledger {
            now: self.now,
            config: &self.config,
            blocks: &mut self.blocks,
            task,
            state,
            worker,
            row,
        };
        let entries = ledger.enter(&mut limbo.connection, &in_time);
        self.skips_pending |= entries.finished > 0;
        late.extend(&entries.timed_out);
        let connection = &limbo.connection;
        if running.is_some() || !late.is_empty() {
            limbo.verdict = self.judge(connection, limbo.kind, running, &late, limbo.lost_at);
        } else {
            let held = |block: &BlockIndex| connection.in_hand.iter().any(|at| at.block == *block);
            limbo.verdict.blamed.retain(|(block, _)| held(block));
            limbo.verdict.suspected.retain(held);
        }
        // Before anything else happens: a run that fails settles all that waits.
        self.limbo.push(limbo);
        if self.conclude(conn, task, worker, entries, out) {
            self.touch(task);
            self.touch_downstream(task);
        }
    }
}
