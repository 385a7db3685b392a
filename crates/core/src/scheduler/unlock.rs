//! What the end of a block means for the blocks that wait for it.

use super::block_states::{COMPLETED, MAX_COUNT, ORPHANED, SKIPPED};
use super::Slot;
use crate::block_box::BlockBox;
use crate::cantor;
use crate::levels::Turn;
use crate::task_graph::{readers_box, TaskGraph};
use crate::{BlockGrid, TaskIndex, MAX_DIMS};

/// Memory that unlocking downstream blocks uses again and again.
#[derive(Default)]
pub(super) struct Scratch {
    /// For each upstream task, axis and entry of a box: how many blocks of that task an entry waits for.
    counts: Vec<u64>,
    /// For each upstream task: the product over the outer axes of a row.
    rows: Vec<u64>,
    unlocked: Vec<([u64; MAX_DIMS], u64)>,
}

/// Completes a block, as skipped or after it ran, and queues what has waited for it alone.
#[inline]
pub(super) fn complete(
    graph: &TaskGraph,
    slots: &mut [Slot],
    scratch: &mut Scratch,
    task: usize,
    block: u64,
    skipped: bool,
) {
    let grid = &graph.tasks[task].grid;
    let slot = &mut slots[task];
    slot.states
        .set(block, if skipped { SKIPPED } else { COMPLETED });
    slot.counters.completed += 1;
    slot.counters.skipped += u64::from(skipped);
    let alone = slot.downstream.is_empty();
    if alone && !grid.levels.any() {
        return;
    }
    let entries = grid.entries(block);
    if !slot.abandoned {
        if let Some(turn) = grid.levels.turn_after(&entries) {
            unlock_own(graph, grid, slot, turn, block, &entries);
        }
    }
    if alone {
        return;
    }
    for position in 0..slots[task].downstream.len() {
        let next = slots[task].downstream[position];
        let next_grid = &graph.tasks[next.at()].grid;
        let next_slot = &mut slots[next.at()];
        if !next_slot.abandoned {
            let readers = readers_box(grid, next_grid, &entries);
            unlock_box(graph, next_grid, next_slot, scratch, &readers);
        }
    }
}

/// Counts a block up in those of the next level of its own task, by ascending number.
#[inline(always)]
fn unlock_own(
    graph: &TaskGraph,
    grid: &BlockGrid,
    slot: &mut Slot,
    turn: &Turn,
    block: u64,
    entries: &[u64; MAX_DIMS],
) {
    let mut interior = slot.upstream.is_empty();
    for &axis in &turn.active {
        let (axis, k) = (&grid.axes[usize::from(axis)], entries[usize::from(axis)]);
        interior &= k >= axis.period && k + axis.period < axis.count;
    }
    if interior {
        // All steps lead to a block of the grid, and each of those waits for as many blocks as there are steps.
        let needed = turn.steps.len() as u64;
        for step in &turn.steps {
            let next = block.wrapping_add(step.index);
            if slot.states.count_up(next, needed) {
                slot.enqueue(grid, next);
            }
        }
        return;
    }
    for step in &turn.steps {
        let mut at = *entries;
        let mut needed = 1u64;
        for &axis in &turn.active {
            let a = usize::from(axis);
            let (axis, k) = (&grid.axes[a], entries[a]);
            // Zero where the step leaves the grid, else the number of ways back from there along this axis.
            needed *= if step.up >> a & 1 == 1 {
                at[a] = k + axis.period - 1;
                if at[a] < axis.count {
                    1 + u64::from(k + axis.period < axis.count)
                } else {
                    0
                }
            } else {
                at[a] = k.wrapping_sub(1);
                if k > 0 {
                    1 + u64::from(k >= axis.period)
                } else {
                    0
                }
            };
        }
        if needed == 0 {
            continue;
        }
        if !slot.upstream.is_empty() {
            needed = slot.needed(graph, grid, &at);
        }
        let next = block.wrapping_add(step.index);
        if slot.states.count_up(next, needed) {
            slot.enqueue(grid, next);
        }
    }
}

/// Counts an upstream block up in each block of a box of a downstream task.
fn unlock_box(
    graph: &TaskGraph,
    grid: &BlockGrid,
    slot: &mut Slot,
    scratch: &mut Scratch,
    readers: &BlockBox,
) {
    if readers.is_empty() {
        return;
    }
    let dims = grid.dims();
    count_per_axis(graph, grid, slot, scratch, readers);
    let Scratch {
        counts,
        rows,
        unlocked,
    } = scratch;
    unlocked.clear();
    let last = dims - 1;
    let extent = |axis: usize| (readers.high[axis] - readers.low[axis]) as usize;
    let counts_of_one_task: usize = (0..dims).map(extent).sum();
    let own_conflicts = grid.levels.any();
    let states = &mut slot.states;
    readers.for_each_row(grid, |entries, start| {
        // What the outer axes contribute is the same for the whole row.
        rows.clear();
        for counts in counts.chunks_exact(counts_of_one_task) {
            let (mut product, mut from) = (1u64, 0);
            for (axis, (entry, low)) in entries.iter().zip(&readers.low).take(last).enumerate() {
                product = product.saturating_mul(counts[from + (entry - low) as usize]);
                from += extent(axis);
            }
            rows.push(product);
        }
        let mut entries = *entries;
        for k in 0..extent(last) {
            entries[last] = readers.low[last] + k as u64;
            let mut needed = if own_conflicts {
                grid.upstream_count(&entries)
            } else {
                0
            };
            for (row, counts) in rows.iter().zip(counts.chunks_exact(counts_of_one_task)) {
                let along = counts[counts_of_one_task - extent(last) + k];
                needed = needed.saturating_add(row.saturating_mul(along));
            }
            if states.count_up(start + k as u64, needed) {
                unlocked.push((entries, start + k as u64));
            }
        }
    });
    // Row-major order is that of the numbers along one axis, but not over several.
    let wide_axes = (0..dims)
        .filter(|&a| readers.high[a] - readers.low[a] > 1)
        .count();
    if wide_axes > 1 && unlocked.len() > 1 {
        unlocked.sort_by_cached_key(|(entries, _)| cantor::order_key(&entries[..dims]));
    }
    for &(_, index) in unlocked.iter() {
        slot.enqueue(grid, index);
    }
}

/// Fills `scratch.counts`.
fn count_per_axis(
    graph: &TaskGraph,
    grid: &BlockGrid,
    slot: &Slot,
    scratch: &mut Scratch,
    readers: &BlockBox,
) {
    scratch.counts.clear();
    for up in &slot.upstream {
        let upstream = &graph.tasks[up.at()].grid;
        for axis in 0..grid.dims() {
            for entry in readers.low[axis]..readers.high[axis] {
                let (begin, end) = grid.axes[axis].read_interval(entry);
                let writers = upstream.axes[axis].writers_of(begin, end);
                scratch.counts.push(writers.end - writers.start);
            }
        }
    }
}

/// Orphans every block that needs this one, directly or through others, in all tasks; each once. Gives their number.
pub(super) fn orphan_dependents(
    graph: &TaskGraph,
    slots: &mut [Slot],
    task: TaskIndex,
    block: u64,
) -> u64 {
    let mut orphaned = 0;
    let mut open = vec![(task, block)];
    while let Some((task, block)) = open.pop() {
        let grid = &graph.tasks[task.at()].grid;
        let entries = grid.entries(block);
        let mut orphan = |slot: &mut Slot, task: TaskIndex, block: u64| {
            // Whatever needs a block that isn't complete is still waiting, or was orphaned before.
            if !slot.abandoned
                && slot
                    .states
                    .get(block)
                    .is_some_and(|state| state <= MAX_COUNT)
            {
                slot.states.set(block, ORPHANED);
                slot.counters.orphaned += 1;
                orphaned += 1;
                open.push((task, block));
            }
        };
        for next in grid.downstream(crate::BlockIndex(block)) {
            orphan(&mut slots[task.at()], task, next.0);
        }
        for position in 0..slots[task.at()].downstream.len() {
            let next = slots[task.at()].downstream[position];
            let next_grid = &graph.tasks[next.at()].grid;
            let slot = &mut slots[next.at()];
            readers_box(grid, next_grid, &entries)
                .for_each(next_grid, |_, index| orphan(slot, next, index));
        }
    }
    orphaned
}
