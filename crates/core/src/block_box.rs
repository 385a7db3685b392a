//! A box of blocks: a range of grid entries per axis.

use std::ops::Range;

use crate::{BlockGrid, BlockIndex, MAX_DIMS};

/// Half-open ranges of grid entries. The axes beyond the grid's hold one entry, so that products ignore them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockBox {
    pub(crate) low: [u64; MAX_DIMS],
    pub(crate) high: [u64; MAX_DIMS],
}

impl BlockBox {
    /// A box whose range on each axis is `range(axis)`.
    #[inline]
    pub(crate) fn from_fn(dims: usize, mut range: impl FnMut(usize) -> Range<u64>) -> Self {
        let mut result = Self {
            low: [0; MAX_DIMS],
            high: [1; MAX_DIMS],
        };
        for axis in 0..dims {
            let Range { start, end } = range(axis);
            result.low[axis] = start;
            result.high[axis] = end;
        }
        result
    }

    /// True when some range is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        (0..MAX_DIMS).any(|axis| self.low[axis] >= self.high[axis])
    }

    /// Number of blocks; saturates.
    #[inline]
    pub(crate) fn volume(&self) -> u64 {
        (0..MAX_DIMS).fold(1u64, |volume, axis| {
            volume.saturating_mul(self.high[axis].saturating_sub(self.low[axis]))
        })
    }

    /// Calls `visit` with each grid vector and index of the box, row-major.
    #[inline]
    pub(crate) fn for_each(&self, grid: &BlockGrid, mut visit: impl FnMut(&[u64; MAX_DIMS], u64)) {
        let last = grid.dims() - 1;
        self.for_each_row(grid, |entries, start| {
            let mut entries = *entries;
            for (index, entry) in (start..).zip(self.low[last]..self.high[last]) {
                entries[last] = entry;
                visit(&entries, index);
            }
        });
    }

    /// Calls `visit` with the first grid vector and index of each row of the box, row-major.
    #[inline]
    pub(crate) fn for_each_row(
        &self,
        grid: &BlockGrid,
        mut visit: impl FnMut(&[u64; MAX_DIMS], u64),
    ) {
        if self.is_empty() {
            return;
        }
        let mut entries = self.low;
        loop {
            visit(&entries, grid.index(&entries));
            let mut axis = grid.dims() - 1;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                entries[axis] += 1;
                if entries[axis] < self.high[axis] {
                    break;
                }
                entries[axis] = self.low[axis];
            }
        }
    }

    /// The blocks of the box by ascending number.
    pub(crate) fn by_number(&self, grid: &BlockGrid) -> Vec<BlockIndex> {
        let mut blocks = Vec::new();
        self.for_each(grid, |entries, index| {
            blocks.push((
                crate::cantor::order_key(&entries[..grid.dims()]),
                BlockIndex(index),
            ));
        });
        blocks.sort_unstable();
        blocks.into_iter().map(|(_, block)| block).collect()
    }
}
