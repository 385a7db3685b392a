//! Blocks that a check function is asked about. The scheduler can't call it: it says which, and takes the answers.

use super::block_states::{CHECKING, ORPHANED};
use super::unlock::complete;
use super::Scheduler;
use crate::{BlockIndex, CoreError, TaskIndex};

impl Scheduler {
    /// On an eager scheduler, for a task with `has_check`: appends up to `n` ready blocks whose function has not been
    /// asked yet to `out`, and gives their number. They stay ready until [`checked`](Self::checked).
    pub fn take_unchecked(
        &mut self,
        task: TaskIndex,
        n: usize,
        out: &mut Vec<BlockIndex>,
    ) -> usize {
        let Some(slot) = self.slots.get_mut(task.at()).filter(|slot| slot.asks()) else {
            return 0;
        };
        let grid = &self.graph.tasks[task.at()].grid;
        let before = out.len();
        while out.len() - before < n {
            let Some(block) = slot.draw(grid) else { break };
            slot.states.set(block, CHECKING);
            out.push(BlockIndex(block));
        }
        out.len() - before
    }

    /// The answer for a block from [`take_unchecked`](Self::take_unchecked): done blocks are skipped (record them
    /// first), others may be acquired. Without effect once the task is abandoned.
    ///
    /// # Errors
    /// [`CoreError::NotHeld`] for a block that isn't being checked, [`CoreError::UnknownTask`],
    /// [`CoreError::UnknownBlock`].
    pub fn checked(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        done: bool,
    ) -> Result<(), CoreError> {
        let slot = match self.slots.get_mut(task.at()) {
            Some(slot) if slot.states.get(block.0) == Some(CHECKING) => slot,
            _ => return Err(self.not_held(task, block)),
        };
        if slot.abandoned {
            slot.states.set(block.0, ORPHANED);
            return Ok(());
        }
        slot.counters.ready -= 1;
        if done {
            complete(
                &self.graph,
                &mut self.slots,
                &mut self.scratch,
                task.at(),
                block.0,
                true,
            );
        } else {
            slot.requeue(block.0);
        }
        Ok(())
    }

    /// Completes a block that is processing as skipped: a check function said that it is done.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn skip(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.take_held(task, block)?;
        complete(
            &self.graph,
            &mut self.slots,
            &mut self.scratch,
            task.at(),
            block.0,
            true,
        );
        Ok(())
    }
}
