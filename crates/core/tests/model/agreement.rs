//! Grid and lazy scheduler do what the naive model does, step by step.

use std::collections::BTreeSet;

use bellis_core::{
    BlockGrid, BlockIndex, Coordinate, Roi, Scheduler, SkipMask, TaskGraph, TaskIndex, TaskInputs,
};
use proptest::prelude::*;

use crate::generate::{pipeline, task};
use crate::naive_scheduler::NaiveScheduler;
use crate::naive_tasks::{blocks, Region};

fn roi(region: &Region) -> Roi {
    let shape: Vec<i64> = region
        .end
        .iter()
        .zip(&region.begin)
        .map(|(e, b)| e - b)
        .collect();
    Roi::from_slices(&region.begin, &shape).expect("a valid region")
}

/// Positions in the naive list to indices of the grid, in the order of hand-out.
fn in_order(grid: &BlockGrid) -> Vec<BlockIndex> {
    std::iter::successors(grid.first_in_order(), |&block| grid.next_in_order(block)).collect()
}

pub(crate) fn graph_of(specs: &[bellis_core::TaskSpec], edges: &[(usize, usize)]) -> TaskGraph {
    let edges: Vec<_> = edges
        .iter()
        .map(|&(a, b)| (TaskIndex(a as u32), TaskIndex(b as u32)))
        .collect();
    TaskGraph::new(specs.to_vec(), &edges).expect("a valid graph")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn grid_of_one_task(spec in task()) {
        let (blocks, level_count) = blocks(&spec);
        let grid = BlockGrid::new(&spec).expect("a valid task");
        let order = in_order(&grid);
        prop_assert_eq!(grid.count(), blocks.len() as u128);
        prop_assert_eq!(order.len(), blocks.len());
        prop_assert_eq!(grid.level_count(), level_count as u128);
        let roots = blocks.iter().filter(|block| block.level == 0).count();
        prop_assert_eq!(grid.root_count(), roots as u128);
        for (block, &index) in blocks.iter().zip(&order) {
            prop_assert_eq!(grid.number(index), block.number);
            prop_assert_eq!(grid.by_number(block.number), Some(index));
            prop_assert_eq!(grid.level(index), block.level as u128);
            prop_assert_eq!(grid.read_roi(index), roi(&block.read));
            prop_assert_eq!(grid.write_roi(index), roi(&block.write));
            prop_assert_eq!(Some(grid.cell_position(index)), Coordinate::new(&block.index));
            let store = grid.store_shape();
            let cell = block.index.iter().zip(store.iter()).fold(0, |cell, (i, n)| cell * n + i);
            prop_assert_eq!(grid.store_cell(index), Some(cell as u64));
            let mut upstream: Vec<u128> = block.upstream.iter().map(|&u| blocks[u].number).collect();
            upstream.sort_unstable();
            let actual: Vec<u128> = grid.upstream(index).iter().map(|&u| grid.number(u)).collect();
            prop_assert_eq!(actual, upstream);
            for other in grid.upstream(index) {
                prop_assert!(grid.downstream(other).contains(&index));
            }
            for other in grid.downstream(index) {
                prop_assert!(grid.upstream(other).contains(&index));
            }
        }
        prop_assert_eq!(grid.by_number(u128::MAX), None);
    }

    #[test]
    fn conflicting_blocks_are_ordered_by_a_path(mut spec in task()) {
        spec.read_write_conflict = true;
        let (blocks, _) = blocks(&spec);
        prop_assume!(blocks.len() <= 400);
        let mut before: Vec<BTreeSet<usize>> = Vec::new();
        for block in &blocks {
            let mut all: BTreeSet<usize> = block.upstream.clone();
            for &up in &block.upstream {
                all.extend(before[up].iter());
            }
            before.push(all);
        }
        for (b, block) in blocks.iter().enumerate() {
            for (a, other) in blocks[..b].iter().enumerate() {
                if block.write.meets(&other.read) || block.read.meets(&other.write) {
                    prop_assert!(before[b].contains(&a), "{} and {}", other.number, block.number);
                }
            }
        }
    }

    #[test]
    fn edges_of_a_pipeline((specs, edges) in pipeline()) {
        let naive = NaiveScheduler::new(&specs, &edges);
        let graph = graph_of(&specs, &edges);
        let order: Vec<Vec<BlockIndex>> = graph
            .task_indices()
            .map(|task| in_order(graph.grid(task).expect("in graph")))
            .collect();
        for task in graph.task_indices() {
            let t = task.at();
            prop_assert_eq!(order[t].len(), naive.tasks[t].blocks.len());
            prop_assert_eq!(
                graph.grid(task).expect("in graph").level_count(),
                naive.tasks[t].level_count as u128
            );
            for (position, &block) in order[t].iter().enumerate() {
                let mut expected: Vec<(bool, usize, u128, BlockIndex)> = naive.tasks[t].upstream[position]
                    .iter()
                    .map(|&(u, b)| (u != t, u, naive.tasks[u].blocks[b].number, order[u][b]))
                    .collect();
                expected.sort_unstable();
                let expected: Vec<_> =
                    expected.into_iter().map(|(_, u, _, b)| (TaskIndex(u as u32), b)).collect();
                let actual = graph.upstream(task, block).expect("in graph");
                prop_assert_eq!(&actual, &expected);
                for (other_task, other) in actual {
                    let back = graph.downstream(other_task, other).expect("in graph");
                    prop_assert!(back.contains(&(task, block)));
                }
                for (other_task, other) in graph.downstream(task, block).expect("in graph") {
                    let back = graph.upstream(other_task, other).expect("in graph");
                    prop_assert!(back.contains(&(task, block)));
                }
            }
        }
    }

    #[test]
    fn steps_of_a_pipeline(
        (specs, edges) in pipeline(),
        masks in prop::collection::vec(any::<u64>(), 4),
        masked in any::<[bool; 4]>(),
        steps in prop::collection::vec((0u8..10, any::<u16>()), 0..400),
    ) {
        let mut naive = NaiveScheduler::new(&specs, &edges);
        let graph = graph_of(&specs, &edges);
        let order: Vec<Vec<BlockIndex>> = graph
            .task_indices()
            .map(|task| in_order(graph.grid(task).expect("in graph")))
            .collect();
        let mut inputs = Vec::new();
        for task in 0..specs.len() {
            let mut cells = vec![0u8; order[task].len()];
            for (position, &block) in order[task].iter().enumerate() {
                let skip = masked[task] && masks[task] >> (block.0 % 61) & 1 == 1;
                cells[block.0 as usize] = u8::from(skip);
                naive.tasks[task].skip[position] = skip;
            }
            inputs.push(TaskInputs {
                skip_mask: masked[task].then(|| SkipMask::new(cells)),
                ..TaskInputs::default()
            });
        }
        let mut scheduler = Scheduler::new(graph, inputs).expect("uncovered is allowed");
        let mut held: Vec<(usize, usize)> = Vec::new();
        let compare = |scheduler: &Scheduler, naive: &NaiveScheduler| {
            for task in 0..specs.len() {
                let actual = scheduler.counters(TaskIndex(task as u32));
                prop_assert_eq!(actual, naive.counters(task), "task {}", task);
            }
            Ok(())
        };
        compare(&scheduler, &naive)?;
        for (kind, pick) in steps {
            if kind < 6 || held.is_empty() {
                let task = usize::from(pick) % specs.len();
                let expected = naive.acquire(task);
                let actual = scheduler.acquire(TaskIndex(task as u32));
                prop_assert_eq!(actual, expected.map(|position| order[task][position]));
                held.extend(expected.map(|position| (task, position)));
            } else {
                let (task, position) = held.swap_remove(usize::from(pick) % held.len());
                let (index, block) = (TaskIndex(task as u32), order[task][position]);
                if kind < 9 {
                    naive.release(task, position);
                    scheduler.release(index, block).expect("held");
                } else {
                    naive.fail(task, position);
                    scheduler.fail(index, block).expect("held");
                }
                prop_assert!(scheduler.release(index, block).is_err(), "returned twice");
            }
            compare(&scheduler, &naive)?;
        }
        let consistent = scheduler.check_invariants();
        prop_assert_eq!(consistent, Ok(()));
    }
}
