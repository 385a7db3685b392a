//! Marks in the done maps of the tasks, which the scheduler holds for its run.

use super::{Scheduler, TaskInputs};
use crate::{BlockIndex, BlockRecord, CoreError, DoneMap, TaskIndex};

/// A task's done map and a block's cell in it.
type Mark<'a> = (&'a mut (dyn DoneMap + Send + 'static), u64);

impl Scheduler {
    /// Records a block as done in its task's done map, if it has one. Call it before `release`.
    ///
    /// # Errors
    /// [`CoreError::Record`] when the store can't be written.
    pub fn record_done(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        record: Option<&BlockRecord>,
    ) -> Result<(), CoreError> {
        if let Some((done, cell)) = self.mark_of(task, block)? {
            done.record_done(cell, record)?;
        }
        Ok(())
    }

    /// Takes the done bit of a block back that a check found not to be done: it is about to run again, and may
    /// fail. Without effect on one that isn't done.
    ///
    /// # Errors
    /// [`CoreError::Record`] when the store can't be written.
    pub fn record_undone(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        if let Some((done, cell)) = self.mark_of(task, block)? {
            done.record_undone(cell)?;
        }
        Ok(())
    }

    /// Counts a failed attempt in the task's done map, if it has one.
    ///
    /// # Errors
    /// [`CoreError::Record`] when the store can't be written.
    pub fn record_failure(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        if let Some((done, cell)) = self.mark_of(task, block)? {
            done.record_failure(cell)?;
        }
        Ok(())
    }

    /// The task's done map and the block's cell in it, if the task has one.
    #[inline]
    fn mark_of(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<Option<Mark<'_>>, CoreError> {
        let cell = self
            .graph
            .node_of_block(task, block)?
            .grid
            .store_cell(block);
        let done = self.slots[task.at()].inputs.done.as_deref_mut();
        Ok(done.zip(cell))
    }

    /// Gives the done maps back, one entry per task, at the end of a run.
    pub fn into_inputs(self) -> Vec<TaskInputs> {
        self.slots.into_iter().map(|slot| slot.inputs).collect()
    }
}
