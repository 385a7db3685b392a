//! The scheduler checks itself: for tests and the simulator, at a cost that grows with the number of blocks.

use super::block_states as states;
use super::{Scheduler, Slot};
use crate::{BlockIndex, TaskIndex};

impl Scheduler {
    /// Compares the counters with the states of all blocks, and looks for two blocks in processing of which one
    /// writes what the other reads, and for blocks that run before those that they wait for.
    ///
    /// # Errors
    /// A sentence that says what doesn't fit.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut processing = Vec::new();
        for (task, slot) in self.graph.task_indices().zip(&self.slots) {
            self.check_counters(task, slot)?;
            let held = slot.states.bytes().iter().enumerate();
            processing.extend(
                held.filter(|(_, &state)| state == states::PROCESSING)
                    .map(|(block, _)| (task, BlockIndex(block as u64))),
            );
        }
        for (position, &(task, block)) in processing.iter().enumerate() {
            self.check_upstream(task, block)?;
            for &(other_task, other) in &processing[..position] {
                if other_task == task {
                    self.check_conflict(task, block, other)?;
                }
            }
        }
        Ok(())
    }

    fn check_counters(&self, task: TaskIndex, slot: &Slot) -> Result<(), String> {
        let c = self.counters(task);
        let sum = c.ready + c.pending + c.processing + c.completed + c.failed + c.orphaned;
        if sum != c.total {
            return Err(format!("task {task}: counters {c:?} add up to {sum}"));
        }
        if slot.done_at_start {
            return Ok(());
        }
        let count =
            |wanted: u8| slot.states.bytes().iter().filter(|&&s| s == wanted).count() as u64;
        let mut pairs = vec![
            ("processing", c.processing, count(states::PROCESSING)),
            ("skipped", c.skipped, count(states::SKIPPED)),
            (
                "completed",
                c.completed,
                count(states::COMPLETED) + count(states::SKIPPED),
            ),
            ("failed", c.failed, count(states::FAILED)),
        ];
        if !slot.abandoned {
            let scanned = if slot.may_skip() && slot.eager {
                slot.scanned + slot.scan.remaining()
            } else {
                slot.roots.remaining()
            };
            let queued = slot.queue.len() + slot.skips.len() + slot.cleared.len();
            pairs.push(("orphaned", c.orphaned, count(states::ORPHANED)));
            pairs.push(("ready", c.ready, queued + scanned + count(states::CHECKING)));
        }
        match pairs
            .into_iter()
            .find(|(_, counter, counted)| counter != counted)
        {
            Some((name, counter, counted)) => Err(format!(
                "task {task}: {name} is {counter}, but {counted} blocks are"
            )),
            None => Ok(()),
        }
    }

    fn check_upstream(&self, task: TaskIndex, block: BlockIndex) -> Result<(), String> {
        let upstream = self
            .graph
            .upstream(task, block)
            .map_err(|error| error.to_string())?;
        for (other_task, other) in upstream {
            let slot = &self.slots[other_task.at()];
            let state = slot.states.get(other.0).unwrap_or(0);
            let complete =
                slot.done_at_start || [states::COMPLETED, states::SKIPPED].contains(&state);
            if !complete {
                return Err(format!(
                    "block {block} of task {task} is processing before block {other} of task {other_task}"
                ));
            }
        }
        Ok(())
    }

    fn check_conflict(&self, task: TaskIndex, a: BlockIndex, b: BlockIndex) -> Result<(), String> {
        let grid = &self.graph.tasks[task.at()].grid;
        let meets = |a, b| grid.write_roi(a).intersects(&grid.read_roi(b));
        if grid.has_conflicts() && (meets(a, b) || meets(b, a)) {
            return Err(format!(
                "blocks {a} and {b} of task {task} conflict and are both processing"
            ));
        }
        Ok(())
    }
}
