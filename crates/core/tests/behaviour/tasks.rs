//! Short ways to write tasks.

use bellis_core::{
    BlockGrid, BlockIndex, Fit, Roi, Scheduler, TaskGraph, TaskIndex, TaskInputs, TaskSpec,
};

pub(crate) const FIRST: TaskIndex = TaskIndex(0);
pub(crate) const SECOND: TaskIndex = TaskIndex(1);

type Region<'a> = (&'a [i64], &'a [i64]);

pub(crate) fn roi((offset, shape): Region) -> Roi {
    Roi::from_slices(offset, shape).expect("a valid region")
}

/// A task with conflicts and no retries.
pub(crate) fn task(total: Region, read: Region, write: Region, fit: Fit) -> TaskSpec {
    TaskSpec {
        fit,
        max_retries: 0,
        ..TaskSpec::new("t", roi(total), roi(read), roi(write))
    }
}

/// A task on one axis whose blocks order nothing among themselves: `(begin, extent)` each.
pub(crate) fn line(
    id: &str,
    total: (i64, i64),
    read: (i64, i64),
    write: (i64, i64),
    fit: Fit,
) -> TaskSpec {
    let region = |(begin, extent)| roi((&[begin], &[extent]));
    TaskSpec {
        fit,
        read_write_conflict: false,
        ..TaskSpec::new(id, region(total), region(read), region(write))
    }
}

pub(crate) fn grid(spec: &TaskSpec) -> BlockGrid {
    BlockGrid::new(spec).expect("a valid task")
}

/// All blocks in the order of hand-out.
pub(crate) fn blocks(grid: &BlockGrid) -> Vec<BlockIndex> {
    std::iter::successors(grid.first_in_order(), |&block| grid.next_in_order(block)).collect()
}

/// Write begins and ends on the first axis, by index.
pub(crate) fn writes(grid: &BlockGrid) -> Vec<(i64, i64)> {
    (0..grid.count() as u64)
        .map(|block| grid.write_roi(BlockIndex(block)))
        .map(|roi| (roi.begin()[0], roi.end()[0]))
        .collect()
}

pub(crate) fn alone(spec: &TaskSpec) -> Scheduler {
    let graph = TaskGraph::new(vec![spec.clone()], &[]).expect("a valid graph");
    Scheduler::new(graph, Vec::<TaskInputs>::new()).expect("a valid scheduler")
}

/// The second task reads the first.
pub(crate) fn pair(first: &TaskSpec, second: &TaskSpec) -> TaskGraph {
    TaskGraph::new(vec![first.clone(), second.clone()], &[(FIRST, SECOND)]).expect("a valid graph")
}

/// Runs everything; gives the largest number of blocks that were ready at once in the first task.
pub(crate) fn drain(scheduler: &mut Scheduler) -> u64 {
    let mut most = scheduler.counters(FIRST).ready;
    loop {
        let mut moved = false;
        for task in scheduler.graph().task_indices() {
            while let Some(block) = scheduler.acquire(task) {
                moved = true;
                scheduler.release(task, block).expect("held");
                most = most.max(scheduler.counters(FIRST).ready);
            }
        }
        if !moved {
            return most;
        }
    }
}
