//! Skips of a run: in bounded pieces, whole words of done bytes at a time, without a worker asking.

use super::block_states::SKIPPED;
use super::cell_run::CellRun;
use super::roots::Run;
use super::unlock::complete;
use super::{Scheduler, Slot};
use crate::{BlockGrid, TaskIndex};

/// Cells looked at in place of one block skipped: a scan costs that much less.
const CELLS_PER_BLOCK: u64 = 64;

impl Scheduler {
    /// Skips ready blocks that are done or masked, for about `budget` blocks; true when there is more to do.
    /// Does nothing on a lazy scheduler. Call it until it gives false after the start and after each block that came
    /// back; in between, `acquire` gives only what was found to need a worker.
    pub fn drain_skips(&mut self, budget: usize) -> bool {
        let mut left = (budget as u64)
            .saturating_mul(CELLS_PER_BLOCK)
            .max(CELLS_PER_BLOCK);
        loop {
            let mut any = false;
            for task in 0..self.slots.len() {
                any |= self.drain_task(task, &mut left);
                if left == 0 {
                    return self.slots.iter().any(Slot::has_skips);
                }
            }
            if !any {
                return false;
            }
        }
    }

    /// Skips queued blocks, then scans roots; true when anything was looked at.
    fn drain_task(&mut self, task: usize, left: &mut u64) -> bool {
        if !self.slots[task].has_skips() {
            return false;
        }
        while *left > 0 {
            let Some(block) = self.slots[task].skips.pop_front() else {
                break;
            };
            *left = left.saturating_sub(CELLS_PER_BLOCK);
            self.skip_ready(task, block);
        }
        while *left > 0 {
            let grid = &self.graph.tasks[task].grid;
            // Where a skip unlocks other blocks it costs more than a look, and all of the run may be skipped.
            let alone = self.slots[task].downstream.is_empty() && !grid.levels.any();
            let limit = if alone {
                *left
            } else {
                (*left / CELLS_PER_BLOCK).max(1)
            };
            let Some(run) = self.slots[task].scan.take_run(grid, limit) else {
                break;
            };
            *left = left.saturating_sub(run.length.max(1));
            self.scan_run(task, run, alone, left);
        }
        true
    }

    fn skip_ready(&mut self, task: usize, block: u64) {
        self.slots[task].counters.ready -= 1;
        complete(
            &self.graph,
            &mut self.slots,
            &mut self.scratch,
            task,
            block,
            true,
        );
    }

    /// Looks at a run of roots: skips the skippable ones and counts the others.
    fn scan_run(&mut self, task: usize, run: Run, alone: bool, left: &mut u64) {
        let step = self.slots[task].scan.step();
        if step == 1 {
            let mut at = 0;
            while at < run.length {
                let start = run.start + at;
                let grid = &self.graph.tasks[task].grid;
                let (skip, length) =
                    CellRun::new(&self.slots[task], grid, start, run.length - at).first_stretch();
                at += length;
                if !skip {
                    self.slots[task].scanned += length;
                } else if alone {
                    let slot = &mut self.slots[task];
                    slot.states.fill(start, length, SKIPPED);
                    slot.counters.ready -= length;
                    slot.counters.completed += length;
                    slot.counters.skipped += length;
                } else {
                    *left = left.saturating_sub(length.saturating_mul(CELLS_PER_BLOCK));
                    (start..start + length).for_each(|block| self.skip_ready(task, block));
                }
            }
            return;
        }
        for block in (0..run.length).map(|k| run.start + k * step) {
            if self.slots[task].skippable(&self.graph.tasks[task].grid, block) {
                *left = left.saturating_sub(CELLS_PER_BLOCK);
                self.skip_ready(task, block);
            } else {
                self.slots[task].scanned += 1;
            }
        }
    }

    /// Completes at once each task all of whose blocks, and those of its upstream tasks, are skippable. Nothing may
    /// have been handed out yet.
    pub(super) fn skip_finished_tasks(&mut self) {
        for task in self.graph.display_order() {
            let slot = &self.slots[task.at()];
            let grid = &self.graph.tasks[task.at()].grid;
            if !slot.upstream.is_empty() || !slot.may_skip() || !all_skippable(slot, grid) {
                continue;
            }
            let slot = &mut self.slots[task.at()];
            slot.roots.clear();
            slot.scan.clear();
            slot.scanned = 0;
            slot.done_at_start = true;
            slot.counters.ready = 0;
            slot.counters.completed = slot.counters.total;
            slot.counters.skipped = slot.counters.total;
            for next in std::mem::take(&mut slot.downstream) {
                self.slots[next.at()].upstream.retain(|&up| up != task);
                self.slots[next.at()].restart_roots(&self.graph, next);
            }
        }
    }

    /// True when every block of the task was found done or masked when the scheduler was made.
    pub fn was_done_at_start(&self, task: TaskIndex) -> bool {
        self.slots
            .get(task.at())
            .is_some_and(|slot| slot.done_at_start)
    }
}

impl Slot {
    fn has_skips(&self) -> bool {
        self.eager && !self.abandoned && (self.skips.len() > 0 || self.scan.remaining() > 0)
    }
}

fn all_skippable(slot: &Slot, grid: &BlockGrid) -> bool {
    let row = grid.axes[grid.dims() - 1].count;
    let Some(rows) = slot.counters.total.checked_div(row) else {
        return true;
    };
    (0..rows).all(|k| CellRun::new(slot, grid, k * row, row).first_stretch() == (true, row))
}
