//! Tasks that are given up, and those that can't run without them.

use super::Scheduler;
use crate::TaskIndex;

impl Scheduler {
    /// Gives up a task: all its blocks that are ready or pending are orphaned, and so are those of all tasks
    /// downstream. Blocks that are processing may still come back. Gives the tasks that were abandoned by this call.
    pub fn abandon(&mut self, task: TaskIndex) -> Vec<TaskIndex> {
        let mut abandoned = self.graph.transitive_downstream(task);
        abandoned.retain(|task| {
            let slot = &mut self.slots[task.at()];
            let give_up = !slot.abandoned && slot.unsettled() > 0;
            if give_up {
                slot.counters.orphaned += slot.unsettled();
                slot.counters.ready = 0;
                slot.abandoned = true;
                slot.roots.clear();
                slot.scan.clear();
                slot.scanned = 0;
                slot.queue.clear();
                slot.skips.clear();
                slot.cleared.clear();
            }
            give_up
        });
        abandoned
    }

    /// True when the task was abandoned.
    pub fn is_abandoned(&self, task: TaskIndex) -> bool {
        self.slots.get(task.at()).is_some_and(|slot| slot.abandoned)
    }
}
