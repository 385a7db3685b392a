//! Hands out the blocks of a task graph in an order in which no two conflicting blocks ever run together.

mod counters;

pub use counters::{Counters, FailOutcome, Order, TaskInputs};

use crate::{BlockIndex, BlockRecord, CoreError, TaskGraph, TaskIndex};

/// Which blocks of a [`TaskGraph`] may run now, and what became of the others.
///
/// Two ways to use it. *Lazily* ([`Scheduler::new`]): `acquire` itself skips what is done or masked. *Eagerly*
/// ([`Scheduler::eager`], a run): [`drain_skips`](Scheduler::drain_skips) skips without anybody asking, in bounded
/// pieces, and tasks with a check go through [`take_unchecked`](Scheduler::take_unchecked) and
/// [`checked`](Scheduler::checked). Both end with the same counters.
pub struct Scheduler {
    graph: TaskGraph,
    inputs: Vec<TaskInputs>,
}

impl Scheduler {
    /// A scheduler that skips lazily, inside [`acquire`](Self::acquire). `inputs` has one entry per task, or is empty.
    ///
    /// # Errors
    /// [`CoreError::Validation`] for a task of more than 2^53 blocks, a mask of the wrong length or the wrong number
    /// of inputs; [`CoreError::Uncovered`]; [`CoreError::OutOfMemory`].
    pub fn new(graph: TaskGraph, inputs: Vec<TaskInputs>) -> Result<Self, CoreError> {
        Ok(Self { graph, inputs })
    }

    /// A scheduler for a run, which skips only in [`drain_skips`](Self::drain_skips).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn eager(graph: TaskGraph, inputs: Vec<TaskInputs>) -> Result<Self, CoreError> {
        Self::new(graph, inputs)
    }

    /// The graph.
    pub fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// Chooses which ready block of a task goes out first. Call it before the first `acquire`.
    pub fn set_order(&mut self, _order: Order) {}

    /// The next block of a task, which is then processing; `None` when none is ready.
    pub fn acquire(&mut self, _task: TaskIndex) -> Option<BlockIndex> {
        None
    }

    /// Acquires up to `n` blocks, appends them to `out` and gives their number.
    pub fn acquire_batch(&mut self, task: TaskIndex, n: usize, out: &mut Vec<BlockIndex>) -> usize {
        let before = out.len();
        out.extend(std::iter::from_fn(|| self.acquire(task)).take(n));
        out.len() - before
    }

    /// Completes a block that is processing and unlocks what waited for it.
    ///
    /// # Errors
    /// [`CoreError::NotHeld`], [`CoreError::UnknownTask`], [`CoreError::UnknownBlock`].
    pub fn release(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.graph.node_of_block(task, block).map(|_| ())
    }

    /// Ends an attempt at a block that is processing. With tries left the block is ready again, behind all others.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn fail(&mut self, task: TaskIndex, block: BlockIndex) -> Result<FailOutcome, CoreError> {
        self.graph.node_of_block(task, block)?;
        Ok(FailOutcome::Permanent { orphaned: 0 })
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
        self.fail(task, block)
    }

    /// Makes a block ready that [`fail_delayed`](Self::fail_delayed) put aside; false when it wasn't (any more).
    pub fn retry_now(&mut self, _task: TaskIndex, _block: BlockIndex) -> bool {
        false
    }

    /// Takes back a block that was not started: it goes to the head of its task's queue and no attempt is counted.
    /// Give several back in the reverse order of their hand-out to keep that order.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn give_back(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.graph.node_of_block(task, block).map(|_| ())
    }

    /// Completes a block that is processing as skipped: a check function said that it is done.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn skip(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.graph.node_of_block(task, block).map(|_| ())
    }

    /// Gives up a task: all its blocks that are ready or pending are orphaned, and so are those of all tasks
    /// downstream. Blocks that are processing may still come back. Gives the tasks that were abandoned by this call.
    pub fn abandon(&mut self, _task: TaskIndex) -> Vec<TaskIndex> {
        Vec::new()
    }

    /// Skips ready blocks that are done or masked, for about `budget` blocks; true when there is more to do.
    /// Does nothing on a lazy scheduler.
    pub fn drain_skips(&mut self, _budget: usize) -> bool {
        false
    }

    /// On an eager scheduler, for a task with `has_check`: appends up to `n` ready blocks whose function has not been
    /// asked yet to `out`, and gives their number. They stay ready until [`checked`](Self::checked).
    pub fn take_unchecked(
        &mut self,
        _task: TaskIndex,
        _n: usize,
        _out: &mut Vec<BlockIndex>,
    ) -> usize {
        0
    }

    /// The answer for a block from [`take_unchecked`](Self::take_unchecked): done blocks are skipped (record them
    /// first), others may be acquired.
    ///
    /// # Errors
    /// [`CoreError::NotHeld`] for a block that isn't being checked, [`CoreError::UnknownTask`],
    /// [`CoreError::UnknownBlock`].
    pub fn checked(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        _done: bool,
    ) -> Result<(), CoreError> {
        self.graph.node_of_block(task, block).map(|_| ())
    }

    /// Ready blocks that are known to need a worker: not skippable, and checked where the task has a check.
    pub fn runnable(&self, _task: TaskIndex) -> u64 {
        0
    }

    /// What became of a task's blocks; all zero for an unknown task.
    pub fn counters(&self, _task: TaskIndex) -> Counters {
        Counters::default()
    }

    /// True when each block of the task is completed, failed or orphaned.
    pub fn is_finished(&self, task: TaskIndex) -> bool {
        let counters = self.counters(task);
        counters.completed + counters.failed + counters.orphaned == counters.total
    }

    /// True when the task was abandoned.
    pub fn is_abandoned(&self, _task: TaskIndex) -> bool {
        false
    }

    /// True when the block is processing.
    pub fn is_held(&self, _task: TaskIndex, _block: BlockIndex) -> bool {
        false
    }

    /// Failed attempts at a block so far in this run.
    pub fn attempts(&self, _task: TaskIndex, _block: BlockIndex) -> u32 {
        0
    }

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
        let cell = self
            .graph
            .node_of_block(task, block)?
            .grid
            .store_cell(block);
        if let (Some(cell), Some(done)) = (cell, self.inputs[task.at()].done.as_mut()) {
            done.record_done(cell, record)?;
        }
        Ok(())
    }

    /// Counts a failed attempt in the task's done map, if it has one.
    ///
    /// # Errors
    /// [`CoreError::Record`] when the store can't be written.
    pub fn record_failure(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        let cell = self
            .graph
            .node_of_block(task, block)?
            .grid
            .store_cell(block);
        if let (Some(cell), Some(done)) = (cell, self.inputs[task.at()].done.as_mut()) {
            done.record_failure(cell)?;
        }
        Ok(())
    }

    /// Gives the done maps back, one entry per task, at the end of a run.
    pub fn into_inputs(self) -> Vec<TaskInputs> {
        self.inputs
    }
}
