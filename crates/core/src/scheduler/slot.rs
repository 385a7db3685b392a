//! One task's part of the scheduler.

use std::collections::HashMap;

use super::block_states::{BlockStates, PROCESSING, READY};
use super::ready_queue::ReadyQueue;
use super::roots::Roots;
use super::{Counters, Order, TaskInputs};
use crate::block_box::BlockBox;
use crate::task_graph::{writers_box, TaskNode};
use crate::{BlockGrid, BlockIndex, CoreError, TaskGraph, TaskIndex, MAX_DIMS};

/// Most blocks of a task that can run: every index is exact as a double.
pub(super) const MAX_BLOCKS: u128 = 1 << 53;

/// States, queues and counters of a task.
pub(super) struct Slot {
    pub(super) states: BlockStates,
    pub(super) roots: Roots,
    /// Eager only: runs ahead of `roots` over what is skippable.
    pub(super) scan: Roots,
    /// Roots that `scan` passed and left to run, and `roots` hasn't drawn.
    pub(super) scanned: u64,
    /// Unlocked blocks and retries.
    pub(super) queue: ReadyQueue,
    /// Eager only: unlocked blocks that will be skipped.
    pub(super) skips: ReadyQueue,
    /// Eager with a check only: blocks of which the function said that they must run.
    pub(super) cleared: ReadyQueue,
    /// Tasks that this one still has to wait for, and those that wait for this one.
    pub(super) upstream: Vec<TaskIndex>,
    pub(super) downstream: Vec<TaskIndex>,
    pub(super) counters: Counters,
    /// Failed attempts of the blocks that have any.
    pub(super) attempts: HashMap<u64, u32>,
    pub(super) inputs: TaskInputs,
    pub(super) order: Order,
    pub(super) eager: bool,
    pub(super) abandoned: bool,
    /// All blocks were found done at the start and their states left untouched.
    pub(super) done_at_start: bool,
}

impl Slot {
    pub(super) fn new(
        graph: &TaskGraph,
        task: TaskIndex,
        inputs: TaskInputs,
        eager: bool,
    ) -> Result<Self, CoreError> {
        let node = &graph.tasks[task.at()];
        let total = node.grid.count();
        if total > MAX_BLOCKS {
            let message = format!("has {total} blocks; more than 2^53 can't be run");
            return Err(CoreError::validation(
                "totalRoi",
                node.spec.total_roi,
                message,
            ));
        }
        let total = total as u64;
        if let Some(mask) = &inputs.skip_mask {
            let cells = mask.cells().len();
            if cells as u64 != total {
                let message = format!("must have {total} cells, of shape {}", node.grid.shape());
                return Err(CoreError::validation(
                    "skipMask",
                    format!("{cells} cells"),
                    message,
                ));
            }
        }
        let states = BlockStates::new(&node.spec.id, total, max_upstream(graph, node))?;
        let roots = Roots::new(&node.grid, waiting_boxes(graph, node, &node.upstream));
        let mut slot = Self {
            states,
            scan: roots.clone(),
            roots,
            scanned: 0,
            queue: ReadyQueue::default(),
            skips: ReadyQueue::default(),
            cleared: ReadyQueue::default(),
            upstream: node.upstream.clone(),
            downstream: node.downstream.clone(),
            counters: Counters {
                total,
                ..Counters::default()
            },
            attempts: HashMap::new(),
            inputs,
            order: Order::Levels,
            eager,
            abandoned: false,
            done_at_start: false,
        };
        slot.start_roots();
        Ok(slot)
    }

    /// Takes the roots anew after upstream tasks were removed; nothing may have been handed out.
    pub(super) fn restart_roots(&mut self, graph: &TaskGraph, task: TaskIndex) {
        let node = &graph.tasks[task.at()];
        self.roots = Roots::new(&node.grid, waiting_boxes(graph, node, &self.upstream));
        self.scan = self.roots.clone();
        self.start_roots();
    }

    fn start_roots(&mut self) {
        self.counters.ready = self.roots.remaining();
        if !self.may_skip() {
            self.scan.clear();
            self.scanned = self.roots.remaining();
        }
    }

    /// True when some block may be skipped without asking a function.
    #[inline(always)]
    pub(super) fn may_skip(&self) -> bool {
        self.inputs.skip_mask.is_some() || self.heeds_done()
    }

    /// True when done blocks are skipped: there is a done map, and no function overrules it.
    #[inline(always)]
    pub(super) fn heeds_done(&self) -> bool {
        self.inputs.done.is_some() && !(self.inputs.verify_done && self.inputs.has_check)
    }

    /// True when the block is masked, or done and that settles it.
    #[inline]
    pub(super) fn skippable(&self, grid: &BlockGrid, block: u64) -> bool {
        if self.heeds_done() {
            if let (Some(done), Some(cell)) = (
                self.inputs.done.as_ref(),
                grid.store_cell(BlockIndex(block)),
            ) {
                let is_done = match done.done_words() {
                    Some(bytes) => bytes.get(cell as usize).is_some_and(|&byte| byte != 0),
                    None => done.is_done(cell),
                };
                if is_done {
                    return true;
                }
            }
        }
        let mask = self.inputs.skip_mask.as_ref();
        mask.is_some_and(|mask| {
            mask.cells()
                .get(block as usize)
                .is_some_and(|&cell| cell != 0)
        })
    }

    /// True when an eager scheduler asks a function before a block may go out.
    #[inline(always)]
    pub(super) fn asks(&self) -> bool {
        self.eager && self.inputs.has_check
    }

    /// Queues a block that has just become ready; its state says so already.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, grid: &BlockGrid, block: u64) {
        self.counters.ready += 1;
        if self.eager && self.may_skip() && self.skippable(grid, block) {
            self.skips.push_back(block);
        } else {
            self.queue.push_back(block);
        }
    }

    /// Draws the next block that is ready, before any check; its state and the counters are left alone.
    #[inline(always)]
    pub(super) fn draw(&mut self, grid: &BlockGrid) -> Option<u64> {
        if let Some(block) = self.queue.pop_head() {
            return Some(block);
        }
        if self.order == Order::DepthFirst {
            return self.queue.pop_back().or_else(|| self.draw_root(grid));
        }
        self.draw_root(grid).or_else(|| self.queue.pop_front())
    }

    #[inline(always)]
    fn draw_root(&mut self, grid: &BlockGrid) -> Option<u64> {
        if !self.eager {
            return self.roots.next(grid);
        }
        if self.scanned == 0 {
            return None;
        }
        loop {
            let block = self.roots.next(grid)?;
            // The scan went ahead and gave those that it skipped a state.
            if self.states.get(block) == Some(0) {
                self.scanned -= 1;
                return Some(block);
            }
        }
    }

    /// Hands out a block that was drawn.
    #[inline(always)]
    pub(super) fn hand_out(&mut self, block: u64) {
        self.states.set(block, PROCESSING);
        self.counters.ready -= 1;
        self.counters.processing += 1;
    }

    /// Makes a block ready again whose check, if it has one, is behind it.
    pub(super) fn requeue(&mut self, block: u64) {
        self.states.set(block, READY);
        self.counters.ready += 1;
        if self.asks() {
            self.cleared.push_back(block);
        } else {
            self.queue.push_back(block);
        }
    }

    /// Ready blocks that no scan, skip or check stands before.
    pub(super) fn runnable(&self) -> u64 {
        if self.abandoned {
            0
        } else if self.asks() {
            self.cleared.len()
        } else if self.eager {
            self.queue.len() + self.scanned
        } else {
            self.counters.ready
        }
    }

    /// Blocks that are neither settled nor handed out.
    pub(super) fn unsettled(&self) -> u64 {
        let Counters {
            total,
            completed,
            failed,
            orphaned,
            processing,
            ..
        } = self.counters;
        total - completed - failed - orphaned - processing
    }

    /// Number of blocks that a block waits for: in its own task, and in the upstream tasks that are left.
    #[inline]
    pub(super) fn needed(&self, graph: &TaskGraph, grid: &BlockGrid, at: &[u64; MAX_DIMS]) -> u64 {
        let elsewhere: u64 = self
            .upstream
            .iter()
            .map(|up| writers_box(&graph.tasks[up.at()].grid, grid, at).volume())
            .fold(0, u64::saturating_add);
        grid.upstream_count(at).saturating_add(elsewhere)
    }
}

/// An upper bound of the number of blocks that one block of the task waits for.
fn max_upstream(graph: &TaskGraph, node: &TaskNode) -> u64 {
    let own = node
        .grid
        .levels
        .turns
        .iter()
        .map(|turn| turn.steps.len() as u64)
        .max()
        .unwrap_or(0);
    node.upstream.iter().fold(own, |sum, up| {
        let upstream = &graph.tasks[up.at()].grid;
        let most = (0..node.grid.dims()).fold(1u64, |product, axis| {
            product.saturating_mul(upstream.axes[axis].max_writers(&node.grid.axes[axis]))
        });
        sum.saturating_add(most)
    })
}

/// For each of `upstream`, the blocks of the task that read something of it.
fn waiting_boxes(graph: &TaskGraph, node: &TaskNode, upstream: &[TaskIndex]) -> Vec<BlockBox> {
    upstream
        .iter()
        .map(|up| {
            let upstream = &graph.tasks[up.at()].grid;
            BlockBox::from_fn(node.grid.dims(), |axis| {
                node.grid.axes[axis].readers_of_axis(&upstream.axes[axis])
            })
        })
        .collect()
}
