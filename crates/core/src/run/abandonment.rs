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
        let unclear = !state.checking.is_empty() || self.skips_unfinished;
        if nobody && work && !unclear && state.starts >= state.start_budget() {
            self.abandon(task, out);
        }
    }

    fn abandon(&mut self, task: TaskIndex, out: &mut Outbox) {
        let given_up = self.blocks.abandon(task);
        for &current in &given_up {
            let nearest = self.tasks[current.at()]
                .upstream
                .iter()
                .find(|up| given_up.contains(up));
            let reason = match nearest {
                _ if current == task => AbandonReason::RestartsUsedUp,
                Some(&task) => AbandonReason::UpstreamAbandoned { task },
                None => AbandonReason::UpstreamAbandoned { task },
            };
            let state = &mut self.tasks[current.at()];
            state.abandoned = Some(reason);
            state.delayed.clear();
        }
        for task in given_up {
            if self.blocks.is_finished(task) && !self.tasks[task.at()].finished {
                self.finish_task(task, out);
            }
        }
        // What is out in later tasks may still come back.
        self.touch_all();
    }
}
