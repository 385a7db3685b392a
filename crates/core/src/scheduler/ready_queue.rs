//! Block indices in the order of hand-out, 8 bytes each.

use std::collections::VecDeque;

/// Entries per segment. Drained segments are given back, and growing never copies the queue.
const SEGMENT: usize = 1024;

/// A first-in first-out queue with a head that blocks can be put back to.
#[derive(Default)]
pub(super) struct ReadyQueue {
    /// Put back to the head; the last one comes first.
    head: Vec<u64>,
    segments: VecDeque<Vec<u64>>,
    /// Entries of the first segment that are gone.
    taken: usize,
    length: u64,
}

impl ReadyQueue {
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    #[inline]
    pub(super) fn push_back(&mut self, block: u64) {
        self.length += 1;
        match self.segments.back_mut() {
            Some(last) if last.len() < SEGMENT => last.push(block),
            last => {
                // A queue that has filled one segment is likely to fill another.
                let mut segment = Vec::with_capacity(if last.is_some() { SEGMENT } else { 4 });
                segment.push(block);
                self.segments.push_back(segment);
            }
        }
    }

    pub(super) fn push_head(&mut self, block: u64) {
        self.length += 1;
        self.head.push(block);
    }

    /// The next of the blocks that were put back.
    #[inline]
    pub(super) fn pop_head(&mut self) -> Option<u64> {
        let block = self.head.pop()?;
        self.length -= 1;
        Some(block)
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<u64> {
        if let Some(block) = self.pop_head() {
            return Some(block);
        }
        let only = self.segments.len() == 1;
        let first = self.segments.front_mut()?;
        let block = *first.get(self.taken)?;
        self.length -= 1;
        self.taken += 1;
        if self.taken == first.len() {
            self.taken = 0;
            if only {
                first.clear();
            } else {
                self.segments.pop_front();
            }
        }
        Some(block)
    }

    /// The newest entry, after those that were put back.
    pub(super) fn pop_back(&mut self) -> Option<u64> {
        if let Some(block) = self.pop_head() {
            return Some(block);
        }
        let block = self.segments.back_mut()?.pop()?;
        self.length -= 1;
        let only = self.segments.len() == 1;
        let left = self.segments.back().map_or(0, Vec::len);
        if only && left == self.taken {
            self.segments.clear();
            self.taken = 0;
        } else if left == 0 {
            self.segments.pop_back();
        }
        Some(block)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in proptest::collection::vec((0u8..5, 1usize..1500), 0..60)) {
            let mut queue = ReadyQueue::default();
            let (mut head, mut model) = (Vec::new(), VecDeque::new());
            let mut next = 0u64;
            for (kind, repeat) in steps {
                for _ in 0..repeat {
                    match kind {
                        0 | 1 => {
                            queue.push_back(next);
                            model.push_back(next);
                        }
                        2 if next % 7 == 0 => {
                            queue.push_head(next);
                            head.push(next);
                        }
                        3 => prop_assert_eq!(queue.pop_front(), head.pop().or_else(|| model.pop_front())),
                        4 => prop_assert_eq!(queue.pop_back(), head.pop().or_else(|| model.pop_back())),
                        _ => {}
                    }
                    next += 1;
                    prop_assert_eq!(queue.len(), (head.len() + model.len()) as u64);
                }
            }
        }
    }
}
