//! The blocks that wait for nothing, as a sequence that is computed while it is drawn.

use crate::block_box::BlockBox;
use crate::{BlockGrid, MAX_DIMS};

/// Level 0 of a task in row-major order, less the blocks in boxes: those wait for blocks of upstream tasks.
#[derive(Clone, Debug)]
pub(super) struct Roots {
    waiting: Vec<BlockBox>,
    remaining: u64,
    /// First entry of each axis: the level's offset.
    offset: [u64; MAX_DIMS],
    /// Outer entries of the row that comes next.
    row: [u64; MAX_DIMS],
    rows_left: bool,
    /// Step along the last axis.
    step: u64,
    run: Run,
    /// Further runs of the same row, last one first.
    runs: Vec<Run>,
}

/// Roots of one row: `length` blocks, one every `step` indices from `start` on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) length: u64,
}

impl Roots {
    /// The roots of a grid of which the blocks in `waiting` wait for other tasks.
    pub(super) fn new(grid: &BlockGrid, mut waiting: Vec<BlockBox>) -> Self {
        waiting.retain(|waiting| !waiting.is_empty());
        waiting.sort_unstable_by_key(|waiting| (waiting.low, waiting.high));
        waiting.dedup();
        let last = grid.dims() - 1;
        let mut offset = [0; MAX_DIMS];
        for (axis, first) in offset.iter_mut().enumerate().take(grid.dims()) {
            *first = grid.axes[axis].period - 1;
        }
        let remaining = grid
            .root_count()
            .saturating_sub(waiting_roots(grid, &waiting));
        Self {
            waiting,
            remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
            offset,
            row: offset,
            rows_left: grid.count() > 0,
            step: grid.axes[last].period,
            run: Run::default(),
            runs: Vec::new(),
        }
    }

    /// Blocks still to come.
    #[inline(always)]
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Index distance between the blocks of a run.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    #[inline(always)]
    pub(super) fn next(&mut self, grid: &BlockGrid) -> Option<u64> {
        if self.run.length == 0 && !self.next_run(grid) {
            return None;
        }
        let block = self.run.start;
        self.run.start += self.step;
        self.run.length -= 1;
        self.remaining -= 1;
        Some(block)
    }

    /// Takes up to `limit` blocks of one row.
    pub(super) fn take_run(&mut self, grid: &BlockGrid, limit: u64) -> Option<Run> {
        if self.run.length == 0 && !self.next_run(grid) {
            return None;
        }
        let taken = Run {
            start: self.run.start,
            length: self.run.length.min(limit),
        };
        self.run.start += taken.length * self.step;
        self.run.length -= taken.length;
        self.remaining -= taken.length;
        Some(taken)
    }

    /// Ends the sequence.
    pub(super) fn clear(&mut self) {
        self.remaining = 0;
        self.run.length = 0;
        self.runs.clear();
    }

    fn next_run(&mut self, grid: &BlockGrid) -> bool {
        if self.remaining == 0 {
            return false;
        }
        loop {
            if let Some(run) = self.runs.pop() {
                self.run = run;
                return true;
            }
            if !self.rows_left {
                return false;
            }
            self.split_row(grid);
            self.rows_left = self.next_row(grid);
        }
    }

    /// Puts the runs of the row at `self.row` on the stack.
    fn split_row(&mut self, grid: &BlockGrid) {
        let last = grid.dims() - 1;
        let count = grid.axes[last].count;
        let start_of_row = grid.index(&self.row) - self.row[last];
        // `waiting` is sorted by begin only on the first axis, so the ranges of this row are sorted here.
        let mut ranges: Vec<(u64, u64)> = self
            .waiting
            .iter()
            .filter(|b| (0..last).all(|a| (b.low[a]..b.high[a]).contains(&self.row[a])))
            .map(|b| (b.low[last], b.high[last]))
            .collect();
        ranges.sort_unstable();
        ranges.push((count, count));
        let mut from = 0;
        for (low, high) in ranges {
            let first = self.first_at_or_after(from, last);
            let end = self.first_at_or_after(low, last);
            if first < end && first < count {
                let length = (end - first) / self.step;
                self.runs.push(Run {
                    start: start_of_row + first,
                    length,
                });
            }
            from = from.max(high);
        }
        self.runs.reverse();
    }

    /// The first entry of level 0 on an axis that isn't below `entry`.
    fn first_at_or_after(&self, entry: u64, axis: usize) -> u64 {
        let offset = self.offset[axis];
        offset + entry.saturating_sub(offset).div_ceil(self.step) * self.step
    }

    fn next_row(&mut self, grid: &BlockGrid) -> bool {
        for axis in (0..grid.dims() - 1).rev() {
            self.row[axis] += grid.axes[axis].period;
            if self.row[axis] < grid.axes[axis].count {
                return true;
            }
            self.row[axis] = self.offset[axis];
        }
        false
    }
}

/// Number of level 0 blocks inside of at least one box.
fn waiting_roots(grid: &BlockGrid, boxes: &[BlockBox]) -> u128 {
    // In steps of the level, so that a box's volume is its number of level 0 blocks.
    let in_steps: Vec<BlockBox> = boxes
        .iter()
        .map(|b| {
            BlockBox::from_fn(grid.dims(), |axis| {
                let period = grid.axes[axis].period;
                let steps = |entry: u64| entry.saturating_sub(period - 1).div_ceil(period);
                steps(b.low[axis])..steps(b.high[axis])
            })
        })
        .collect();
    union_volume(&in_steps.iter().collect::<Vec<_>>(), 0, grid.dims())
}

/// Volume of the union of boxes over the axes from `axis` on, slab by slab.
fn union_volume(boxes: &[&BlockBox], axis: usize, dims: usize) -> u128 {
    if axis == dims || boxes.is_empty() {
        return u128::from(!boxes.is_empty());
    }
    let mut cuts: Vec<u64> = boxes
        .iter()
        .flat_map(|b| [b.low[axis], b.high[axis]])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2)
        .map(|slab| {
            let inside: Vec<&BlockBox> = boxes
                .iter()
                .filter(|b| b.low[axis] <= slab[0] && slab[1] <= b.high[axis])
                .copied()
                .collect();
            u128::from(slab[1] - slab[0]) * union_volume(&inside, axis + 1, dims)
        })
        .sum()
}
