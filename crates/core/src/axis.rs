//! One axis of a task: where its blocks write and read, and which of them meet an interval.
//!
//! Everything that is geometric in a task is a product over axes, so nothing here is stored per block.

use std::ops::Range;

use crate::fast_div::FastDiv;
use crate::{Fit, TaskSpec};

/// The geometry of one axis of a validated task. Coordinates are voxels, `k` counts blocks from the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    total_begin: i64,
    total_end: i64,
    /// Where block 0 writes.
    write_begin: i64,
    /// End of the total write region; not before `write_begin`.
    write_end: i64,
    write: i64,
    by_write: FastDiv,
    read: i64,
    lower: i64,
    fit: Fit,
    /// Number of blocks.
    pub(crate) count: u64,
    /// Cell of block 0 counted from the begin of the total region: the base of ids and store cells.
    pub(crate) base: u64,
    /// Store cells over the whole total region.
    pub(crate) cells: u64,
    /// Blocks from one block of a level to the next one of the same level; at least 1.
    pub(crate) period: u64,
}

impl Axis {
    /// The axis of a task that passed [`TaskSpec::validate`].
    pub(crate) fn new(spec: &TaskSpec, axis: usize) -> Self {
        let (total, read, write) = (&spec.total_roi, &spec.read_roi, &spec.write_roi);
        let total_begin = total.offset[axis];
        let total_end = total_begin + total.shape[axis];
        let lower = write.offset[axis] - read.offset[axis];
        let upper = read.shape[axis] - lower - write.shape[axis];
        let write_begin = total_begin + lower;
        let write_end = (total_end - upper).max(write_begin);
        let size = write.shape[axis];
        let shape = total.shape[axis];
        let extent = write_end - write_begin;
        let rest = extent % size != 0 && !spec.fit.only_whole_blocks();
        let count = extent / size + i64::from(rest);
        let context = lower.max(upper);
        let period = if spec.read_write_conflict {
            (context / size + i64::from(context % size != 0) + 1)
                .min(count)
                .max(1)
        } else {
            1
        };
        Self {
            total_begin,
            total_end,
            write_begin,
            write_end,
            write: size,
            // Numerators below never exceed what the blocks of the axis read.
            by_write: FastDiv::new(size as u64, (shape + read.shape[axis] + size) as u64),
            read: read.shape[axis],
            lower,
            fit: spec.fit,
            count: count as u64,
            base: (lower / size) as u64,
            cells: (shape / size + i64::from(shape % size != 0)) as u64,
            period: period as u64,
        }
    }

    /// Begin and end of the total write region.
    pub(crate) fn total_write(&self) -> (i64, i64) {
        (self.write_begin, self.write_end)
    }

    /// Begin and end of what block `k` writes.
    #[inline]
    pub(crate) fn write_interval(&self, k: u64) -> (i64, i64) {
        let begin = self.write_begin + k as i64 * self.write;
        let end = begin + self.write;
        (
            begin,
            if self.fit.cuts_writes() {
                end.min(self.write_end)
            } else {
                end
            },
        )
    }

    /// Begin and end of what block `k` reads.
    #[inline]
    pub(crate) fn read_interval(&self, k: u64) -> (i64, i64) {
        let begin = self.write_begin + k as i64 * self.write - self.lower;
        let end = begin + self.read;
        (
            begin,
            if self.fit.cuts_reads() {
                end.min(self.total_end)
            } else {
                end
            },
        )
    }

    /// Begin and end of all that the blocks of this axis write together; they leave no gap.
    pub(crate) fn covered(&self) -> (i64, i64) {
        match self.count.checked_sub(1) {
            Some(last) => (self.write_begin, self.write_interval(last).1),
            None => (self.write_begin, self.write_begin),
        }
    }

    /// Blocks that write something of `[begin, end)`.
    #[inline]
    pub(crate) fn writers_of(&self, begin: i64, end: i64) -> Range<u64> {
        let (first, last) = self.covered();
        let (begin, end) = (begin.max(first), end.min(last));
        if begin >= end {
            return 0..0;
        }
        let (low, _) = self.by_write.div_rem((begin - self.write_begin) as u64);
        let (high, _) = self.by_write.div_rem((end - 1 - self.write_begin) as u64);
        low..high + 1
    }

    /// Blocks that read something of `[begin, end)`.
    #[inline]
    pub(crate) fn readers_of(&self, begin: i64, end: i64) -> Range<u64> {
        let Some(last) = self.count.checked_sub(1) else {
            return 0..0;
        };
        let begin = begin.max(self.total_begin);
        let end = end.min(self.read_interval(last).1);
        if begin >= end {
            return 0..0;
        }
        // Block `k` reads from `total_begin + k * write` on, `read` voxels, before it is cut.
        let (high, _) = self.by_write.div_rem((end - 1 - self.total_begin) as u64);
        let passed = begin - self.total_begin - self.read;
        let low = if passed < 0 {
            0
        } else {
            self.by_write.div_rem(passed as u64).0 + 1
        };
        let high = high.min(last);
        if low > high {
            return 0..0;
        }
        low..high + 1
    }

    /// Blocks that read something of what `upstream`'s blocks write: all those between a first and a last one.
    pub(crate) fn readers_of_axis(&self, upstream: &Axis) -> Range<u64> {
        let (begin, end) = upstream.covered();
        self.readers_of(begin, end)
    }

    /// An upper bound of the number of these blocks that a block of `downstream` reads something of.
    pub(crate) fn max_writers(&self, downstream: &Axis) -> u64 {
        let (blocks, _) = self
            .by_write
            .div_rem(downstream.read.min(self.write_span()) as u64);
        (blocks + 2).min(self.count)
    }

    fn write_span(&self) -> i64 {
        let (begin, end) = self.covered();
        end - begin
    }
}
