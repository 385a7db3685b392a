//! Attempts that failed: another one now or later, or the end of the block and of all that need it.

use super::block_states::{DELAYED, FAILED};
use super::unlock::orphan_dependents;
use super::{FailOutcome, Scheduler};
use crate::{BlockIndex, CoreError, TaskIndex};

impl Scheduler {
    /// Ends an attempt at a block that is processing. With tries left the block is ready again, behind all others.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn fail(&mut self, task: TaskIndex, block: BlockIndex) -> Result<FailOutcome, CoreError> {
        let outcome = self.end_attempt(task, block)?;
        if let FailOutcome::Retry { .. } = outcome {
            self.slots[task.at()].requeue(block.0);
        }
        Ok(outcome)
    }

    /// Like [`fail`](Self::fail), but a block with tries left stays pending until [`retry_now`](Self::retry_now).
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn fail_delayed(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<FailOutcome, CoreError> {
        let outcome = self.end_attempt(task, block)?;
        if let FailOutcome::Retry { .. } = outcome {
            self.slots[task.at()].states.set(block.0, DELAYED);
        }
        Ok(outcome)
    }

    /// Makes a block ready that [`fail_delayed`](Self::fail_delayed) put aside; false when it wasn't (any more).
    pub fn retry_now(&mut self, task: TaskIndex, block: BlockIndex) -> bool {
        let Some(slot) = self.slots.get_mut(task.at()) else {
            return false;
        };
        let delayed = !slot.abandoned && slot.states.get(block.0) == Some(DELAYED);
        if delayed {
            slot.requeue(block.0);
        }
        delayed
    }

    /// Failed attempts at a block so far in this run.
    pub fn attempts(&self, task: TaskIndex, block: BlockIndex) -> u32 {
        let slot = self.slots.get(task.at());
        slot.and_then(|slot| slot.attempts.get(&block.0))
            .copied()
            .unwrap_or(0)
    }

    fn end_attempt(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<FailOutcome, CoreError> {
        self.take_held(task, block)?;
        let max_retries = self.graph.tasks[task.at()].spec.max_retries;
        let slot = &mut self.slots[task.at()];
        let attempts = slot.attempts.entry(block.0).or_default();
        *attempts = attempts.saturating_add(1);
        if *attempts <= max_retries && !slot.abandoned {
            return Ok(FailOutcome::Retry {
                attempts: *attempts,
            });
        }
        slot.states.set(block.0, FAILED);
        slot.counters.failed += 1;
        let orphaned = orphan_dependents(&self.graph, &mut self.slots, task, block.0);
        Ok(FailOutcome::Permanent { orphaned })
    }
}
