//! Done bytes and mask cells of consecutive blocks, many at a time.

use super::Slot;
use crate::{BlockGrid, BlockIndex};

/// Cells compared without a branch: what the compiler turns into vector instructions.
const WIDE: usize = 64;

/// The cells of consecutive blocks of one row, or the way to ask for them one by one.
pub(super) struct CellRun<'a> {
    length: usize,
    cells: Cells<'a>,
}

enum Cells<'a> {
    /// Done bytes and mask; what is missing, or ends early, isn't set.
    Bytes(&'a [u8], &'a [u8]),
    /// A done map whose bytes can't be seen.
    Asked {
        slot: &'a Slot,
        grid: &'a BlockGrid,
        start: u64,
    },
}

impl<'a> CellRun<'a> {
    /// The cells of `length` blocks from `start` on, all of one row of the grid.
    pub(super) fn new(slot: &'a Slot, grid: &'a BlockGrid, start: u64, length: u64) -> Self {
        let mask = slot.inputs.skip_mask.as_ref();
        let mask = mask.map_or(&[][..], |mask| slice_from(mask.cells(), start, length));
        let map = slot.inputs.done.as_ref().filter(|_| slot.heeds_done());
        let cells = match (map, grid.store_cell(BlockIndex(start))) {
            (Some(map), Some(cell)) => match map.done_words() {
                Some(bytes) => Cells::Bytes(slice_from(bytes, cell, length), mask),
                None => Cells::Asked { slot, grid, start },
            },
            _ => Cells::Bytes(&[], mask),
        };
        Self {
            length: length as usize,
            cells,
        }
    }

    /// Whether the first block is skippable, and how many blocks from it on are like it.
    pub(super) fn first_stretch(&self) -> (bool, u64) {
        match self.cells {
            Cells::Bytes(done, mask) => {
                let (first, length) = stretch(done, mask, self.length);
                (first, length as u64)
            }
            Cells::Asked { slot, grid, start } => {
                let at = |k: u64| slot.skippable(grid, start + k);
                let (first, length) = (at(0), self.length as u64);
                (
                    first,
                    (1..length).find(|&k| at(k) != first).unwrap_or(length),
                )
            }
        }
    }
}

fn stretch(done: &[u8], mask: &[u8], length: usize) -> (bool, usize) {
    let set = |k: usize| {
        let cell = |cells: &[u8]| cells.get(k).copied().unwrap_or(0);
        cell(done) | cell(mask) != 0
    };
    let first = set(0);
    let mut at = 0;
    while at + WIDE <= length && alike::<WIDE>(done, mask, at, first) {
        at += WIDE;
    }
    while at + 8 <= length && alike::<8>(done, mask, at, first) {
        at += 8;
    }
    while at < length && set(at) == first {
        at += 1;
    }
    (first, at)
}

/// True when `N` cells are all set, or all not, as `wanted`; may be false where a slice ends inside.
#[inline(always)]
fn alike<const N: usize>(done: &[u8], mask: &[u8], at: usize, wanted: bool) -> bool {
    let same = |cell: u8| (cell != 0) == wanted;
    match (done.get(at..at + N), mask.get(at..at + N)) {
        (Some(done), Some(mask)) => done
            .iter()
            .zip(mask)
            .fold(true, |all, (&done, &mask)| all & same(done | mask)),
        (Some(cells), None) if mask.len() <= at => cells.iter().fold(true, |all, &c| all & same(c)),
        (None, Some(cells)) if done.len() <= at => cells.iter().fold(true, |all, &c| all & same(c)),
        (None, None) if done.len().max(mask.len()) <= at => !wanted,
        _ => false,
    }
}

fn slice_from(bytes: &[u8], start: u64, length: u64) -> &[u8] {
    let start = usize::try_from(start)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
    &bytes[start..end.min(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_by_one(done: &[u8], mask: &[u8], length: usize) -> (bool, usize) {
        let at = |k: usize| {
            [done, mask]
                .iter()
                .any(|cells| cells.get(k).is_some_and(|&c| c != 0))
        };
        (at(0), (0..length).take_while(|&k| at(k) == at(0)).count())
    }

    /// Long runs of alike cells, so that wide steps are taken and end anywhere.
    fn cells() -> impl Strategy<Value = Vec<u8>> {
        let run = (prop::sample::select(vec![0u8, 1, 255]), 0usize..150);
        prop::collection::vec(run, 0..4).prop_map(|runs| {
            runs.iter()
                .flat_map(|&(c, n)| std::iter::repeat_n(c, n))
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn stretches_are_those_found_one_by_one(done in cells(), mask in cells(), length in 1usize..300) {
            let (done, mask) = (&done[..done.len().min(length)], &mask[..mask.len().min(length)]);
            prop_assert_eq!(stretch(done, mask, length), one_by_one(done, mask, length));
        }
    }

    #[test]
    fn slices_beyond_the_end_are_empty() {
        assert_eq!(slice_from(&[1, 2, 3], 1, 1), [2]);
        assert_eq!(slice_from(&[1, 2, 3], 2, 9), [3]);
        assert_eq!(slice_from(&[1, 2, 3], 4, 9), []);
        assert_eq!(slice_from(&[1, 2, 3], u64::MAX, u64::MAX), []);
    }
}
