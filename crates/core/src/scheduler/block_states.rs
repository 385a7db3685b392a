//! One byte per block: how many of the blocks that it waits for are complete, or what became of it.

use crate::CoreError;

/// Highest count that fits in a state byte; tasks whose blocks may wait for more count in a second array.
pub(super) const MAX_COUNT: u8 = 240;
/// In a ready queue.
pub(super) const READY: u8 = 248;
/// Handed out.
pub(super) const PROCESSING: u8 = 249;
/// Ready, while its check function is asked.
pub(super) const CHECKING: u8 = 250;
/// Failed, waiting for the delay before its next attempt.
pub(super) const DELAYED: u8 = 251;
/// Complete after having been handed out.
pub(super) const COMPLETED: u8 = 252;
/// Complete without having been handed out.
pub(super) const SKIPPED: u8 = 253;
/// Failed for good.
pub(super) const FAILED: u8 = 254;
/// Will never run.
pub(super) const ORPHANED: u8 = 255;

/// The states of a task's blocks by index, in memory that is zero and not resident until it is touched. Zero is also
/// the state of a block that waits for nothing and hasn't been drawn from the root sequence.
pub(super) struct BlockStates {
    bytes: Box<[u8]>,
    wide: Option<Box<[u64]>>,
}

impl BlockStates {
    /// States for `count` blocks of which each waits for at most `max_upstream` others.
    pub(super) fn new(task_id: &str, count: u64, max_upstream: u64) -> Result<Self, CoreError> {
        let wide = max_upstream > u64::from(MAX_COUNT);
        let bytes = count.saturating_mul(if wide { 9 } else { 1 });
        let refuse = || CoreError::OutOfMemory {
            task_id: task_id.to_owned(),
            bytes,
        };
        let length = usize::try_from(count).map_err(|_| refuse())?;
        Ok(Self {
            bytes: bytemuck::try_zeroed_slice_box(length).map_err(|()| refuse())?,
            wide: wide
                .then(|| bytemuck::try_zeroed_slice_box(length).map_err(|()| refuse()))
                .transpose()?,
        })
    }

    /// The state of a block; `None` for an index beyond the grid.
    #[inline(always)]
    pub(super) fn get(&self, index: u64) -> Option<u8> {
        self.bytes.get(index as usize).copied()
    }

    #[inline(always)]
    pub(super) fn set(&mut self, index: u64, state: u8) {
        self.bytes[index as usize] = state;
    }

    /// Sets a run of blocks.
    pub(super) fn fill(&mut self, start: u64, length: u64, state: u8) {
        self.bytes[start as usize..(start + length) as usize].fill(state);
    }

    /// Counts one more complete upstream block of a waiting block; true when that makes `needed`, and the block is
    /// then ready. Blocks that don't wait any more are left alone.
    #[inline(always)]
    pub(super) fn count_up(&mut self, index: u64, needed: u64) -> bool {
        let byte = &mut self.bytes[index as usize];
        if *byte > MAX_COUNT {
            return false;
        }
        let count = match &mut self.wide {
            None => {
                *byte += 1;
                u64::from(*byte)
            }
            Some(counts) => {
                counts[index as usize] += 1;
                counts[index as usize]
            }
        };
        if count == needed {
            *byte = READY;
        }
        count == needed
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
