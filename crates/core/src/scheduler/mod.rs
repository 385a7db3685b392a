//! Hands out the blocks of a task graph in an order in which no two conflicting blocks ever run together.

mod abandonment;
mod attempts;
mod block_states;
mod cell_run;
mod census;
mod checks;
mod counters;
mod drain;
mod ready_queue;
mod records;
mod roots;
mod slot;
mod unlock;

pub use counters::{Counters, FailOutcome, Order, TaskInputs};

use block_states::{ORPHANED, PROCESSING, READY};
use slot::Slot;
use unlock::{complete, Scratch};

use crate::{BlockIndex, CoreError, TaskGraph, TaskIndex};

/// Which blocks of a [`TaskGraph`] may run now, and what became of the others.
///
/// Two ways to use it. *Lazily* ([`Scheduler::new`]): `acquire` itself skips what is done or masked. *Eagerly*
/// ([`Scheduler::eager`], a run): [`drain_skips`](Scheduler::drain_skips) skips without anybody asking, in bounded
/// pieces, and tasks with a check go through [`take_unchecked`](Scheduler::take_unchecked) and
/// [`checked`](Scheduler::checked). Both end with the same counters.
pub struct Scheduler {
    graph: TaskGraph,
    slots: Vec<Slot>,
    scratch: Scratch,
}

impl Scheduler {
    /// A scheduler that skips lazily, inside [`acquire`](Self::acquire). `inputs` has one entry per task, or is empty.
    ///
    /// # Errors
    /// [`CoreError::Validation`] for a task of more than 2^53 blocks, a mask of the wrong length or the wrong number
    /// of inputs; [`CoreError::Uncovered`]; [`CoreError::OutOfMemory`].
    pub fn new(graph: TaskGraph, inputs: Vec<TaskInputs>) -> Result<Self, CoreError> {
        Self::with(graph, inputs, false)
    }

    /// A scheduler for a run, which skips only in [`drain_skips`](Self::drain_skips). Tasks that are skippable as a
    /// whole, with all that they read from, are complete at once.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn eager(graph: TaskGraph, inputs: Vec<TaskInputs>) -> Result<Self, CoreError> {
        let mut scheduler = Self::with(graph, inputs, true)?;
        scheduler.skip_finished_tasks();
        Ok(scheduler)
    }

    fn with(graph: TaskGraph, mut inputs: Vec<TaskInputs>, eager: bool) -> Result<Self, CoreError> {
        graph.check_covered()?;
        if inputs.is_empty() {
            inputs.resize_with(graph.len(), TaskInputs::default);
        }
        if inputs.len() != graph.len() {
            let message = format!("must have one entry for each of {} tasks", graph.len());
            return Err(CoreError::validation("inputs", inputs.len(), message));
        }
        let slots = graph
            .task_indices()
            .zip(inputs)
            .map(|(task, inputs)| {
                Slot::new(&graph, task, inputs, eager)
                    .map_err(|error| error.under(&format!("tasks[{task}]")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            graph,
            slots,
            scratch: Scratch::default(),
        })
    }

    /// The graph.
    pub fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// Chooses which ready block of a task goes out first. Call it before the first `acquire`.
    pub fn set_order(&mut self, order: Order) {
        for slot in &mut self.slots {
            slot.order = order;
        }
    }

    /// The next block of a task, which is then processing; `None` when none is ready.
    #[inline]
    pub fn acquire(&mut self, task: TaskIndex) -> Option<BlockIndex> {
        let grid = &self.graph.tasks.get(task.at())?.grid;
        loop {
            let slot = &mut self.slots[task.at()];
            let block = if slot.asks() {
                slot.cleared.pop_front()?
            } else {
                slot.draw(grid)?
            };
            if !slot.eager && slot.may_skip() && slot.skippable(grid, block) {
                slot.counters.ready -= 1;
                complete(
                    &self.graph,
                    &mut self.slots,
                    &mut self.scratch,
                    task.at(),
                    block,
                    true,
                );
                continue;
            }
            slot.hand_out(block);
            return Some(BlockIndex(block));
        }
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
    #[inline]
    pub fn release(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.take_held(task, block)?;
        complete(
            &self.graph,
            &mut self.slots,
            &mut self.scratch,
            task.at(),
            block.0,
            false,
        );
        Ok(())
    }

    /// Takes back a block that was not started: it goes to the head of its task's queue and no attempt is counted.
    /// Give several back in the reverse order of their hand-out to keep that order.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn give_back(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        self.take_held(task, block)?;
        let slot = &mut self.slots[task.at()];
        if slot.abandoned {
            slot.states.set(block.0, ORPHANED);
            slot.counters.orphaned += 1;
            return Ok(());
        }
        slot.states.set(block.0, READY);
        slot.counters.ready += 1;
        if slot.asks() {
            slot.cleared.push_head(block.0);
        } else {
            slot.queue.push_head(block.0);
        }
        Ok(())
    }

    /// Ready blocks that are known to need a worker: not skippable, and checked where the task has a check.
    pub fn runnable(&self, task: TaskIndex) -> u64 {
        self.slots.get(task.at()).map_or(0, Slot::runnable)
    }

    /// What became of a task's blocks; all zero for an unknown task.
    pub fn counters(&self, task: TaskIndex) -> Counters {
        self.slots
            .get(task.at())
            .map_or_else(Counters::default, |slot| Counters {
                pending: slot.unsettled() - slot.counters.ready,
                ..slot.counters
            })
    }

    /// True when each block of the task is completed, failed or orphaned.
    pub fn is_finished(&self, task: TaskIndex) -> bool {
        let counters = self.counters(task);
        counters.completed + counters.failed + counters.orphaned == counters.total
    }

    /// True when the block is processing.
    pub fn is_held(&self, task: TaskIndex, block: BlockIndex) -> bool {
        let slot = self.slots.get(task.at());
        slot.is_some_and(|slot| slot.states.get(block.0) == Some(PROCESSING))
    }

    /// Ends the hold of a block; the caller gives it its next state.
    #[inline(always)]
    fn take_held(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), CoreError> {
        match self.slots.get_mut(task.at()) {
            Some(slot) if slot.states.get(block.0) == Some(PROCESSING) => {
                slot.counters.processing -= 1;
                Ok(())
            }
            _ => Err(self.not_held(task, block)),
        }
    }

    #[cold]
    fn not_held(&self, task: TaskIndex, block: BlockIndex) -> CoreError {
        match self.graph.node_of_block(task, block) {
            Err(error) => error,
            Ok(node) => CoreError::NotHeld {
                task_id: node.spec.id.clone(),
                block,
                number: node.grid.number(block),
            },
        }
    }
}
