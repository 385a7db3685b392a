//! Positions as types, so that a task's place in the list and a block's place in the grid can't be mixed up.

use std::fmt;

/// A task's position in the task list of a [`TaskGraph`](crate::TaskGraph).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskIndex(pub u32);

impl TaskIndex {
    /// The position as an index into a slice.
    #[inline]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TaskIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A block's row-major position in its task's block grid (last axis fastest).
///
/// This isn't the block's number: see [`BlockGrid::number`](crate::BlockGrid::number).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockIndex(pub u64);

impl fmt::Display for BlockIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
