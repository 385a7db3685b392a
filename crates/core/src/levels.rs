//! The order among conflicting blocks of one task.
//!
//! On an axis with period `p` a block `k` has the offset `k mod p`. The offsets of all axes, read as one number with
//! the last axis fastest, count the levels down to zero: level 0 has the largest. From a level to the next one that
//! number falls by one: some axis, the *turn axis*, steps down, and those behind it roll over. A block waits for
//! the blocks of the level before that lie one step above or `p - 1` below it on the turn axis and each axis
//! behind it; older conflicts follow from those.

use crate::axis::Axis;
use crate::cantor;
use crate::fast_div::FastDiv;
use crate::{BlockGrid, BlockIndex, MAX_DIMS};

/// A way from a block to one of the next level that waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// What to add to the index, wrapping.
    pub(crate) index: u64,
    /// Bit `a` is set when axis `a` goes up by `p - 1`; otherwise an active axis goes down by 1.
    pub(crate) up: u8,
}

/// The steps of one turn axis.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Axes from the turn axis on whose period is above 1.
    pub(crate) active: Vec<u8>,
    /// By ascending number of the block reached.
    pub(crate) steps: Vec<Step>,
}

/// Periods and steps of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) period: [u64; MAX_DIMS],
    by_period: [FastDiv; MAX_DIMS],
    /// Indexed by turn axis; empty on an axis that has a period of 1.
    pub(crate) turns: Vec<Turn>,
    any: bool,
}

impl Levels {
    pub(crate) fn new(axes: &[Axis], strides: &[u64; MAX_DIMS]) -> Self {
        let dims = axes.len();
        let mut period = [1; MAX_DIMS];
        for (period, axis) in period.iter_mut().zip(axes) {
            *period = axis.period;
        }
        let turns: Vec<Turn> = (0..dims)
            .map(|axis| Turn::new(axis, dims, &period, strides))
            .collect();
        let by_period = std::array::from_fn(|axis| {
            FastDiv::new(period[axis], axes.get(axis).map_or(0, |axis| axis.count))
        });
        let any = turns.iter().any(|turn| !turn.steps.is_empty());
        Self {
            period,
            by_period,
            turns,
            any,
        }
    }

    /// True when some block of the task waits for another one of it.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// A block's offset in the period of an axis.
    #[inline(always)]
    pub(crate) fn offset(&self, axis: usize, entry: u64) -> u64 {
        if self.period[axis] == 1 {
            0
        } else {
            self.by_period[axis].div_rem(entry).1
        }
    }

    /// The turn axis between a block's level and the next one, `None` in the last level.
    #[inline(always)]
    pub(crate) fn turn_after(&self, entries: &[u64; MAX_DIMS]) -> Option<&Turn> {
        (0..self.turns.len())
            .rev()
            .find(|&axis| self.offset(axis, entries[axis]) != 0)
            .map(|axis| &self.turns[axis])
    }

    /// The turn axis between the level before a block's and its own, `None` in level 0.
    #[inline(always)]
    pub(crate) fn turn_before(&self, entries: &[u64; MAX_DIMS]) -> Option<&Turn> {
        (0..self.turns.len())
            .rev()
            .find(|&axis| self.offset(axis, entries[axis]) + 1 != self.period[axis])
            .map(|axis| &self.turns[axis])
    }
}

impl Turn {
    fn new(axis: usize, dims: usize, period: &[u64; MAX_DIMS], strides: &[u64; MAX_DIMS]) -> Self {
        let active: Vec<u8> = (axis..dims)
            .filter(|&a| period[a] > 1)
            .map(|a| a as u8)
            .collect();
        if period[axis] == 1 {
            return Self {
                active: Vec::new(),
                steps: Vec::new(),
            };
        }
        let mut steps: Vec<([i64; MAX_DIMS], Step)> = (0..1usize << active.len())
            .map(|choice| {
                let mut vector = [0i64; MAX_DIMS];
                let mut step = Step { index: 0, up: 0 };
                for (bit, &a) in active.iter().enumerate() {
                    let a = usize::from(a);
                    let up = choice >> bit & 1 == 1;
                    vector[a] = if up { period[a] as i64 - 1 } else { -1 };
                    step.up |= u8::from(up) << a;
                    step.index = step
                        .index
                        .wrapping_add((vector[a] as u64).wrapping_mul(strides[a]));
                }
                (vector, step)
            })
            .collect();
        steps.sort_by(|a, b| compare_vectors(&a.0[..dims], &b.0[..dims]));
        Self {
            active,
            steps: steps.into_iter().map(|(_, step)| step).collect(),
        }
    }
}

/// Numbers compare like prefix sums, which are linear: so the order of blocks reached is that of the steps.
fn compare_vectors(a: &[i64], b: &[i64]) -> std::cmp::Ordering {
    let sum = |vector: &[i64], length: usize| {
        vector[..length]
            .iter()
            .map(|&entry| i128::from(entry))
            .sum::<i128>()
    };
    (1..=a.len())
        .rev()
        .map(|length| sum(a, length).cmp(&sum(b, length)))
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

impl BlockGrid {
    /// Number of levels: 1 without conflicts, 0 with conflicts and no blocks.
    pub fn level_count(&self) -> u128 {
        match (self.has_conflicts(), self.count()) {
            (false, _) => 1,
            (true, 0) => 0,
            (true, _) => self
                .periods()
                .iter()
                .map(|&period| u128::from(period))
                .product(),
        }
    }

    /// A block's level; level 0 is handed out first.
    pub fn level(&self, block: BlockIndex) -> u128 {
        let entries = self.entries(block.0);
        let levels = &self.levels;
        self.periods()
            .iter()
            .enumerate()
            .fold(0u128, |rank, (axis, &period)| {
                rank * u128::from(period)
                    + u128::from(period - 1 - levels.offset(axis, entries[axis]))
            })
    }

    /// Number of blocks that wait for no other block of this task.
    pub fn root_count(&self) -> u128 {
        self.axes[..self.dims()]
            .iter()
            .map(|axis| u128::from(axis.count / axis.period))
            .product()
    }

    /// The first block in the order of hand-out: level by level, row-major in a level. `None` without blocks, and for
    /// a grid of 2^64 blocks and more.
    pub fn first_in_order(&self) -> Option<BlockIndex> {
        if self.indexed == 0 {
            return None;
        }
        let mut entries = [0; MAX_DIMS];
        for (entry, &period) in entries.iter_mut().zip(self.periods()) {
            *entry = period - 1;
        }
        Some(BlockIndex(self.index(&entries)))
    }

    /// The block that follows in the order of hand-out, `None` after the last one.
    pub fn next_in_order(&self, block: BlockIndex) -> Option<BlockIndex> {
        let mut entries = self.entries(block.0);
        if !self.next_in_level(&mut entries) {
            // Level exhausted; `entries` is back at its first block, whose entries are the offsets.
            let mut axis = self.dims();
            loop {
                axis = axis.checked_sub(1)?;
                if entries[axis] > 0 {
                    entries[axis] -= 1;
                    break;
                }
                entries[axis] = self.axes[axis].period - 1;
            }
        }
        Some(BlockIndex(self.index(&entries)))
    }

    /// Goes to the next block of the level, row-major; at the end gives false and the level's first block.
    #[inline]
    pub(crate) fn next_in_level(&self, entries: &mut [u64; MAX_DIMS]) -> bool {
        for axis in (0..self.dims()).rev() {
            let Axis { count, period, .. } = self.axes[axis];
            if entries[axis] + period < count {
                entries[axis] += period;
                return true;
            }
            entries[axis] = self.levels.offset(axis, entries[axis]);
        }
        false
    }

    /// Blocks of this task that a block waits for directly, by ascending number.
    pub fn upstream(&self, block: BlockIndex) -> Vec<BlockIndex> {
        let entries = self.entries(block.0);
        let Some(turn) = self.levels.turn_before(&entries) else {
            return Vec::new();
        };
        let exists = |step: &Step| {
            turn.active.iter().all(|&axis| {
                let (k, axis) = (entries[usize::from(axis)], usize::from(axis));
                let Axis { count, period, .. } = self.axes[axis];
                if step.up >> axis & 1 == 1 {
                    k + 1 >= period
                } else {
                    k + 1 < count
                }
            })
        };
        let steps = turn.steps.iter().rev().filter(|step| exists(step));
        steps
            .map(|step| BlockIndex(block.0.wrapping_sub(step.index)))
            .collect()
    }

    /// Blocks of this task that wait for a block directly, by ascending number.
    pub fn downstream(&self, block: BlockIndex) -> Vec<BlockIndex> {
        let entries = self.entries(block.0);
        let Some(turn) = self.levels.turn_after(&entries) else {
            return Vec::new();
        };
        let exists = |step: &Step| {
            turn.active.iter().all(|&axis| {
                let axis = usize::from(axis);
                let Axis { count, period, .. } = self.axes[axis];
                if step.up >> axis & 1 == 1 {
                    entries[axis] + period - 1 < count
                } else {
                    entries[axis] > 0
                }
            })
        };
        let steps = turn.steps.iter().filter(|step| exists(step));
        steps
            .map(|step| BlockIndex(block.0.wrapping_add(step.index)))
            .collect()
    }

    /// Number of blocks of this task that a block waits for directly.
    #[inline]
    pub(crate) fn upstream_count(&self, entries: &[u64; MAX_DIMS]) -> u64 {
        let Some(turn) = self.levels.turn_before(entries) else {
            return 0;
        };
        let mut count = 1;
        for &axis in &turn.active {
            let (k, axis) = (entries[usize::from(axis)], &self.axes[usize::from(axis)]);
            count *= u64::from(k + 1 < axis.count) + u64::from(k + 1 >= axis.period);
        }
        count
    }

    /// Orders two blocks by their numbers.
    pub fn compare(&self, a: BlockIndex, b: BlockIndex) -> std::cmp::Ordering {
        let (a, b) = (self.entries(a.0), self.entries(b.0));
        cantor::compare(&a[..self.dims()], &b[..self.dims()])
    }

    fn periods(&self) -> &[u64] {
        &self.levels.period[..self.dims()]
    }
}
