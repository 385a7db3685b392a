//! Giving up a task that nobody is left to work for, and all that build on it.

use super::{AbandonReason, Outbox, Run};
use crate::TaskIndex;

impl Run {
    /// Gives the task up when it has work that has to be done, no worker, and no start left.
    pub(super) fn consider_abandonment(&mut self, task: TaskIndex, out: &mut Outbox) {
        let state = &self.tasks[task.at()];
        let nobody = !self.config.serial && state.live == 0;
        let work = self.blocks.runnable(task) > 0 || !state.delayed.is_empty();
        // While blocks are being checked, all of them may turn out to be done.
        let unclear = !state.checking.is_empty() || self.skips_pending;
        if nobody && work && !unclear && state.starts >= state.start_budget() {
            self.abandon(task, out);
        }
    }

    fn abandon(&mut self, task: TaskIndex, out: &mut Outbox) {
        self.tasks[task.at()].abandoned = Some(AbandonReason::RestartsUsedUp);
        let mut given_up = vec![task];
        let mut next = 0;
        while let Some(&current) = given_up.get(next) {
            next += 1;
            for at in 0..self.tasks[current.at()].downstream.len() {
                let after = self.tasks[current.at()].downstream[at];
                let state = &mut self.tasks[after.at()];
                if state.finished || state.abandoned.is_some() {
                    continue;
                }
                state.abandoned = Some(AbandonReason::UpstreamAbandoned { task: current });
                given_up.push(after);
            }
        }
        self.blocks.abandon(task);
        for task in given_up {
            self.tasks[task.at()].delayed.clear();
            if self.blocks.is_finished(task) {
                self.finish_task(task, out);
            }
        }
        // What is out in later tasks may still come back.
        self.touch_all();
    }
}
