//! Whether a volume has only grown, and how its cells move then.

use bellis_core::Fit;

use crate::layout::Layout;

/// How cells move when a volume has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Cells by which each axis moves.
    pub(crate) shift: Vec<u64>,
    /// Blocks at the front of each axis whose regions are unchanged.
    pub(crate) kept: Vec<u64>,
}

/// Why a store can't be carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrowthRefusal {
    /// Something else than a grown total.
    NotGrown,
    /// The front grew by a part of a block.
    FrontMisaligned {
        /// Nearest offset of the total that would be accepted.
        nearest: Vec<i64>,
    },
}

impl Layout {
    /// How a store of layout `self` is carried over to the layout `grown`.
    pub(crate) fn growth_to(&self, grown: &Self) -> Result<Growth, GrowthRefusal> {
        if self.axes() != grown.axes() || self.fit() != grown.fit() {
            return Err(GrowthRefusal::NotGrown);
        }
        let mut growth = Growth {
            shift: Vec::new(),
            kept: Vec::new(),
        };
        let mut grew = false;
        let mut nearest = grown.total().offset.clone();
        let mut misaligned = false;
        for (axis, nearest) in nearest.iter_mut().enumerate() {
            let same = self.stride(axis) == grown.stride(axis)
                && self.lower(axis) == grown.lower(axis)
                && self.upper(axis) == grown.upper(axis);
            let front =
                i128::from(self.total().offset[axis]) - i128::from(grown.total().offset[axis]);
            let back = grown.total().end(axis) - self.total().end(axis);
            if !same || front < 0 || back < 0 {
                return Err(GrowthRefusal::NotGrown);
            }
            grew |= front > 0 || back > 0;
            let stride = self.stride(axis);
            if front % stride != 0 {
                misaligned = true;
                let steps = (front + stride / 2) / stride;
                let offset = i128::from(self.total().offset[axis]) - steps * stride;
                *nearest = i64::try_from(offset).unwrap_or(self.total().offset[axis]);
            }
            let shift = u64::try_from(front / stride).map_err(|_| GrowthRefusal::NotGrown)?;
            let (_, count) = self.blocks_along(axis);
            let unchanged = |index: u64| {
                self.intervals(axis, index) == grown.intervals(axis, index.saturating_add(shift))
            };
            // Only the last block of an axis can be clipped by the old border.
            let kept = if count > 0 && !unchanged(count - 1) {
                count - 1
            } else {
                count
            };
            growth.shift.push(shift);
            growth.kept.push(kept);
        }
        if !grew {
            return Err(GrowthRefusal::NotGrown);
        }
        if misaligned {
            return Err(GrowthRefusal::FrontMisaligned { nearest });
        }
        Ok(growth)
    }

    /// Final read and write intervals of block `index` along an axis.
    fn intervals(&self, axis: usize, index: u64) -> [(i128, i128); 2] {
        let begin = i128::from(self.total().offset[axis]);
        let end = self.total().end(axis);
        let (lower, upper) = (self.lower(axis), self.upper(axis));
        let write = begin + lower + i128::from(index) * self.stride(axis);
        let mut write = (write, write + self.stride(axis));
        let mut read = (write.0 - lower, write.1 + upper);
        let cut = |(from, to): (i128, i128), low: i128, high: i128| (from.max(low), to.min(high));
        let fit = Fit::from(self.fit());
        if fit.cuts_reads() {
            read = cut(read, begin, end);
        }
        if fit.cuts_writes() {
            write = cut(write, begin + lower, end - upper);
        }
        [read, write]
    }
}
