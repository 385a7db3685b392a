//! The blocks of one task, computed from their position and never stored.

use crate::axis::Axis;
use crate::cantor;
use crate::fast_div::FastDiv;
use crate::levels::Levels;
use crate::{BlockIndex, Coordinate, CoreError, Roi, TaskSpec, MAX_DIMS};

/// The block grid of a task: regions, numbers, store cells, levels and the dependencies inside the task.
/// Its size doesn't grow with the number of blocks.
#[derive(Clone, Debug)]
pub struct BlockGrid {
    dims: usize,
    pub(crate) axes: [Axis; MAX_DIMS],
    shape: Coordinate,
    count: u128,
    /// Blocks that have an index: all, or none.
    pub(crate) indexed: u64,
    /// Row-major strides; saturated where a grid has 2^64 blocks and more.
    pub(crate) strides: [u64; MAX_DIMS],
    by_stride: [FastDiv; MAX_DIMS],
    /// Row-major strides of the store grid, `None` when it has 2^64 cells and more.
    store_strides: Option<[u64; MAX_DIMS]>,
    conflicts: bool,
    pub(crate) levels: Levels,
}

impl BlockGrid {
    /// The grid of a task.
    ///
    /// # Errors
    /// [`CoreError::Validation`] as [`TaskSpec::validate`], and at `totalRoi` when the grid has more blocks, or
    /// larger block numbers, than 128 bits hold exactly.
    pub fn new(spec: &TaskSpec) -> Result<Self, CoreError> {
        spec.validate()?;
        let dims = spec.total_roi.dims();
        let axes: [Axis; MAX_DIMS] =
            std::array::from_fn(|axis| Axis::new(spec, axis.min(dims - 1)));
        let shape = Coordinate::from_fn(dims, |axis| axes[axis].count as i64);
        let too_large = || {
            let message = "has more blocks than can be numbered exactly; use larger blocks";
            CoreError::validation("totalRoi", spec.total_roi, message)
        };
        let count = axes[..dims]
            .iter()
            .try_fold(1u128, |count, axis| {
                count.checked_mul(u128::from(axis.count))
            })
            .ok_or_else(too_large)?;
        if count > 0 {
            let last: Vec<u64> = axes[..dims]
                .iter()
                .map(|axis| axis.base + axis.count - 1)
                .collect();
            cantor::number(&last).ok_or_else(too_large)?;
        }
        let indexed = u64::try_from(count).unwrap_or(0);
        let strides = saturating_strides(&axes[..dims], |axis| axis.count);
        let cells = axes[..dims]
            .iter()
            .try_fold(1u64, |cells, axis| cells.checked_mul(axis.cells));
        Ok(Self {
            dims,
            axes,
            shape,
            count,
            indexed,
            strides,
            by_stride: std::array::from_fn(|axis| FastDiv::new(strides[axis], indexed)),
            store_strides: cells.map(|_| saturating_strides(&axes[..dims], |axis| axis.cells)),
            conflicts: spec.read_write_conflict,
            levels: Levels::new(&axes[..dims], &strides),
        })
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Blocks per axis over the total write region: the shape of a skip mask.
    pub fn shape(&self) -> &Coordinate {
        &self.shape
    }

    /// Cells per axis of the task's tracking store: the total region in steps of the write shape, rounded up.
    pub fn store_shape(&self) -> Coordinate {
        Coordinate::from_fn(self.dims, |axis| self.axes[axis].cells as i64)
    }

    /// Number of blocks.
    pub fn count(&self) -> u128 {
        self.count
    }

    /// True when blocks of this task order each other.
    pub fn has_conflicts(&self) -> bool {
        self.conflicts
    }

    /// True when the grid has this block. A grid of 2^64 blocks and more can be counted, but none of its blocks
    /// can be named.
    #[inline]
    pub fn contains(&self, block: BlockIndex) -> bool {
        block.0 < self.indexed
    }

    /// A block's grid vector, counted from the first block of each axis.
    pub fn position(&self, block: BlockIndex) -> Coordinate {
        let position = self.entries(block.0);
        Coordinate::from_fn(self.dims, |axis| position[axis] as i64)
    }

    /// The block at a grid vector, `None` outside of the grid.
    pub fn at(&self, position: &Coordinate) -> Option<BlockIndex> {
        if position.dims() != self.dims || self.indexed == 0 {
            return None;
        }
        let mut index = 0u64;
        for axis in 0..self.dims {
            let entry = u64::try_from(position[axis]).ok()?;
            if entry >= self.axes[axis].count {
                return None;
            }
            index += entry * self.strides[axis];
        }
        Some(BlockIndex(index))
    }

    /// What a block writes, after its fit.
    pub fn write_roi(&self, block: BlockIndex) -> Roi {
        self.roi_of(block, Axis::write_interval)
    }

    /// What a block reads, after its fit.
    pub fn read_roi(&self, block: BlockIndex) -> Roi {
        self.roi_of(block, Axis::read_interval)
    }

    fn roi_of(&self, block: BlockIndex, interval: impl Fn(&Axis, u64) -> (i64, i64)) -> Roi {
        let position = self.entries(block.0);
        let at = |axis: usize| interval(&self.axes[axis], position[axis]);
        Roi {
            offset: Coordinate::from_fn(self.dims, |axis| at(axis).0),
            shape: Coordinate::from_fn(self.dims, |axis| at(axis).1 - at(axis).0),
        }
    }

    /// What all blocks may write: the total region less the context.
    pub fn total_write_roi(&self) -> Roi {
        let at = |axis: usize| self.axes[axis].total_write();
        Roi {
            offset: Coordinate::from_fn(self.dims, |axis| at(axis).0),
            shape: Coordinate::from_fn(self.dims, |axis| at(axis).1 - at(axis).0),
        }
    }

    /// What the blocks really write together: less than [`total_write_roi`](Self::total_write_roi) with fit `valid`,
    /// more with `overhang`.
    pub fn covered_roi(&self) -> Roi {
        let at = |axis: usize| self.axes[axis].covered();
        Roi {
            offset: Coordinate::from_fn(self.dims, |axis| at(axis).0),
            shape: Coordinate::from_fn(self.dims, |axis| at(axis).1 - at(axis).0),
        }
    }

    /// A block's number: unique in the task, the same when the volume grows at the end, not dense.
    pub fn number(&self, block: BlockIndex) -> u128 {
        let cell = self.cell_entries(block);
        // The last block's number was checked when the grid was built, and no other block has a larger one.
        cantor::number(&cell[..self.dims]).unwrap_or(u128::MAX)
    }

    /// The block with a number, `None` when the task has none.
    pub fn by_number(&self, number: u128) -> Option<BlockIndex> {
        let axes = &self.axes[..self.dims];
        let max_sum = axes
            .iter()
            .map(|axis| u128::from(axis.base + axis.count))
            .sum();
        let mut entries = cantor::entries(number, self.dims, max_sum)?;
        for (entry, axis) in entries.iter_mut().zip(axes) {
            *entry = entry.checked_sub(axis.base)?;
        }
        self.at(&Coordinate::from_fn(self.dims, |axis| {
            entries[axis].min(i64::MAX as u64) as i64
        }))
    }

    /// A block's cell in the tracking store, row-major in [`store_shape`](Self::store_shape); `None` for a store of
    /// 2^64 cells and more.
    #[inline]
    pub fn store_cell(&self, block: BlockIndex) -> Option<u64> {
        let strides = self.store_strides.as_ref()?;
        let position = self.entries(block.0);
        Some(
            (0..self.dims)
                .map(|a| (self.axes[a].base + position[a]) * strides[a])
                .sum(),
        )
    }

    /// A block's grid vector counted from the begin of the total region.
    pub fn cell_position(&self, block: BlockIndex) -> Coordinate {
        let cell = self.cell_entries(block);
        Coordinate::from_fn(self.dims, |axis| cell[axis] as i64)
    }

    fn cell_entries(&self, block: BlockIndex) -> [u64; MAX_DIMS] {
        let mut entries = self.entries(block.0);
        for (entry, axis) in entries.iter_mut().zip(&self.axes[..self.dims]) {
            *entry += axis.base;
        }
        entries
    }

    /// The grid vector of an index, for the inner loops.
    #[inline(always)]
    pub(crate) fn entries(&self, index: u64) -> [u64; MAX_DIMS] {
        let mut entries = [0; MAX_DIMS];
        let mut rest = index;
        let last = self.dims - 1;
        for (entry, stride) in entries.iter_mut().zip(&self.by_stride[..last]) {
            (*entry, rest) = stride.div_rem(rest);
        }
        entries[last] = rest;
        entries
    }

    /// The index of a grid vector, for the inner loops.
    #[inline(always)]
    pub(crate) fn index(&self, entries: &[u64; MAX_DIMS]) -> u64 {
        (0..self.dims)
            .map(|axis| entries[axis] * self.strides[axis])
            .sum()
    }
}

fn saturating_strides(axes: &[Axis], extent: impl Fn(&Axis) -> u64) -> [u64; MAX_DIMS] {
    let mut strides = [1u64; MAX_DIMS];
    let mut stride = 1u64;
    for (axis, geometry) in axes.iter().enumerate().rev() {
        strides[axis] = stride;
        stride = stride.saturating_mul(extent(geometry));
    }
    strides
}
