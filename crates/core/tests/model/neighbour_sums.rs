//! What blocks are for: each sums its neighbourhood from what it reads, and together they give what one pass gives.

use std::collections::HashMap;

use bellis_core::{Fit, Roi, Scheduler, TaskGraph, TaskIndex};
use proptest::prelude::*;

use crate::generate::task;

const TASK: TaskIndex = TaskIndex(0);

fn points(roi: &Roi) -> Vec<Vec<i64>> {
    (0..roi.dims()).fold(vec![Vec::new()], |heads, axis| {
        let range = roi.begin()[axis]..roi.end()[axis];
        heads
            .iter()
            .flat_map(|head| {
                range
                    .clone()
                    .map(move |last| [head.as_slice(), &[last]].concat())
            })
            .collect()
    })
}

fn value(point: &[i64]) -> i64 {
    point
        .iter()
        .fold(7, |hash, &entry| (hash * 31 + entry).rem_euclid(1009))
}

/// Sum over the neighbourhood that the context of the task allows, of the points in `available`.
fn neighbour_sum(point: &[i64], spec: &bellis_core::TaskSpec, available: &Roi) -> i64 {
    let reach = Roi::new(
        bellis_core::Coordinate::from_fn(point.len(), |a| {
            point[a] - (spec.write_roi.offset[a] - spec.read_roi.offset[a])
        }),
        bellis_core::Coordinate::from_fn(point.len(), |a| {
            spec.read_roi.shape[a] - spec.write_roi.shape[a] + 1
        }),
    )
    .expect("small");
    points(&reach.intersect(available).expect("same rank"))
        .iter()
        .map(|p| value(p))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn neighbours_summed_over_blocks_equal_the_unblocked_sums(mut spec in task()) {
        spec.fit = Fit::Shrink;
        let reach: i64 = spec.read_roi.shape.iter().product();
        let volume = spec.total_roi.size().expect("small");
        prop_assume!(i128::from(reach) * volume < 2_000_000);
        let graph = TaskGraph::new(vec![spec.clone()], &[]).expect("valid");
        let grid = graph.grid(TASK).expect("in graph").clone();
        let mut scheduler = Scheduler::new(graph, Vec::new()).expect("valid");
        let mut result: HashMap<Vec<i64>, i64> = HashMap::new();
        while let Some(block) = scheduler.acquire(TASK) {
            let (read, write) = (grid.read_roi(block), grid.write_roi(block));
            prop_assert!(read.contains_roi(&write) && spec.total_roi.contains_roi(&read));
            for point in points(&write) {
                let sum = neighbour_sum(&point, &spec, &read);
                prop_assert_eq!(result.insert(point, sum), None, "written twice");
            }
            scheduler.release(TASK, block).expect("held");
        }
        let expected: HashMap<Vec<i64>, i64> = points(&grid.total_write_roi())
            .into_iter()
            .map(|point| {
                let sum = neighbour_sum(&point, &spec, &spec.total_roi);
                (point, sum)
            })
            .collect();
        prop_assert_eq!(result, expected);
    }
}
