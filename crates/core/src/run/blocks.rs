//! The scheduler as the run uses it: blocks are recorded before they count, and what isn't held any
//! more changes nothing.

use super::RunError;
use crate::{
    BlockIndex, BlockRecord, CoreError, Counters, FailOutcome, Order, RecordError, Scheduler,
    TaskIndex, TaskInputs,
};

/// The states of all blocks.
pub(super) struct Blocks {
    scheduler: Scheduler,
    /// Blocks skipped when it was last looked.
    skipped: u64,
}

impl Blocks {
    pub(super) fn new(mut scheduler: Scheduler, order: Order) -> Blocks {
        scheduler.set_order(order);
        Blocks {
            scheduler,
            skipped: 0,
        }
    }

    pub(super) fn task_count(&self) -> usize {
        self.scheduler.graph().len()
    }

    /// The tasks right before and right after one.
    pub(super) fn neighbours(&self, task: TaskIndex) -> (Vec<TaskIndex>, Vec<TaskIndex>) {
        let graph = self.scheduler.graph();
        let owned = |tasks: Result<&[TaskIndex], CoreError>| tasks.unwrap_or_default().to_vec();
        (
            owned(graph.upstream_tasks(task)),
            owned(graph.downstream_tasks(task)),
        )
    }

    /// All tasks, each after those that it waits for.
    pub(super) fn topological_order(&self) -> Vec<TaskIndex> {
        self.scheduler.graph().display_order()
    }

    #[inline]
    pub(super) fn counters(&self, task: TaskIndex) -> Counters {
        self.scheduler.counters(task)
    }

    /// Blocks that could be handed out now and have to run.
    #[inline]
    pub(super) fn runnable(&self, task: TaskIndex) -> u64 {
        self.scheduler.runnable(task)
    }

    #[inline]
    pub(super) fn processing(&self, task: TaskIndex) -> u64 {
        self.scheduler.counters(task).processing
    }

    #[inline]
    pub(super) fn is_finished(&self, task: TaskIndex) -> bool {
        self.scheduler.is_finished(task)
    }

    /// Appends up to `most` blocks to the list; their number.
    #[inline]
    pub(super) fn acquire(
        &mut self,
        task: TaskIndex,
        most: usize,
        list: &mut Vec<BlockIndex>,
    ) -> usize {
        self.scheduler.acquire_batch(task, most, list)
    }

    /// Records the block as done, then counts it.
    #[inline]
    pub(super) fn complete(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        record: &BlockRecord,
    ) -> Result<(), RunError> {
        if !self.scheduler.is_held(task, block) {
            return Ok(());
        }
        self.scheduler
            .record_done(task, block, Some(record))
            .map_err(|error| refused(task, block, error))?;
        // Held, as was just seen, so this can't be refused.
        let _ = self.scheduler.release(task, block);
        Ok(())
    }

    /// Appends up to `most` blocks that the check function hasn't seen; their number.
    pub(super) fn take_unchecked(
        &mut self,
        task: TaskIndex,
        most: usize,
        list: &mut Vec<BlockIndex>,
    ) -> usize {
        self.scheduler.take_unchecked(task, most, list)
    }

    /// The check's answer: a done block is recorded and counts as skipped; one that isn't loses the mark
    /// of an earlier run before it runs.
    pub(super) fn checked(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
        done: bool,
    ) -> Result<(), RunError> {
        let recorded = if done {
            self.scheduler.record_done(task, block, None)
        } else {
            self.scheduler.record_undone(task, block)
        };
        recorded.map_err(|error| refused(task, block, error))?;
        // A block that isn't being checked (any more) stays as it is.
        let _ = self.scheduler.checked(task, block, done);
        Ok(())
    }

    pub(super) fn record_failure(
        &mut self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<(), RunError> {
        self.scheduler
            .record_failure(task, block)
            .map_err(|error| refused(task, block, error))
    }

    /// Attempts at a block that have failed.
    pub(super) fn failed_attempts(&self, task: TaskIndex, block: BlockIndex) -> u32 {
        self.scheduler.attempts(task, block)
    }

    pub(super) fn is_held(&self, task: TaskIndex, block: BlockIndex) -> bool {
        self.scheduler.is_held(task, block)
    }

    /// Ends an attempt. A block with tries left is ready again, at once or after `retry_now`; whether
    /// it is one of these.
    pub(super) fn fail(&mut self, task: TaskIndex, block: BlockIndex, delayed: bool) -> bool {
        let outcome = if delayed {
            self.scheduler.fail_delayed(task, block)
        } else {
            self.scheduler.fail(task, block)
        };
        matches!(outcome, Ok(FailOutcome::Retry { .. }))
    }

    pub(super) fn retry_now(&mut self, task: TaskIndex, block: BlockIndex) {
        self.scheduler.retry_now(task, block);
    }

    /// An unstarted block goes to the head of its queue. Nothing happens to one that isn't held.
    pub(super) fn give_back(&mut self, task: TaskIndex, block: BlockIndex) {
        let _ = self.scheduler.give_back(task, block);
    }

    /// Gives up a task and all after it; these tasks.
    pub(super) fn abandon(&mut self, task: TaskIndex) -> Vec<TaskIndex> {
        self.scheduler.abandon(task)
    }

    /// Skips what needs no worker, about as many as told: whether more is left, and whether any was.
    pub(super) fn drain_skips(&mut self, budget: usize) -> (bool, bool) {
        let more = self.scheduler.drain_skips(budget);
        let skipped = self
            .scheduler
            .graph()
            .task_indices()
            .map(|task| self.scheduler.counters(task).skipped)
            .sum();
        let any = skipped != self.skipped;
        self.skipped = skipped;
        (more, any)
    }

    pub(super) fn into_inputs(self) -> Vec<TaskInputs> {
        self.scheduler.into_inputs()
    }
}

fn refused(task: TaskIndex, block: BlockIndex, error: CoreError) -> RunError {
    let error = match error {
        CoreError::Record(error) => error,
        other => RecordError {
            code: other.code(),
            message: other.to_string(),
            path: None,
        },
    };
    RunError::Record { task, block, error }
}
