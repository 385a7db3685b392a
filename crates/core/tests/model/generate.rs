//! Random tasks and pipelines, small enough for the naive model.

use bellis_core::{Coordinate, Fit, Roi, TaskSpec};
use proptest::prelude::*;
use proptest::sample::select;

/// One axis: total begin and extent, read extent, where the write begins in it, write extent, template offset.
#[derive(Clone, Debug)]
pub(crate) struct AxisCase {
    begin: i64,
    extent: i64,
    lower: i64,
    write: i64,
    upper: i64,
    template: i64,
}

fn axis(dims: usize) -> impl Strategy<Value = AxisCase> {
    // About as many blocks in four dimensions as in one.
    let most = [60i64, 18, 9, 6][dims - 1];
    // Rarely too small for a block, mostly several small blocks.
    let inner = prop_oneof![1 => -3i64..=1, 25 => most / 2..=most];
    (
        -20i64..20,
        inner,
        0i64..=6,
        prop_oneof![3 => 1i64..=3, 1 => 4i64..=8],
        0i64..=6,
        -30i64..30,
    )
        .prop_map(|(begin, inner, lower, write, upper, template)| AxisCase {
            begin,
            extent: (inner + lower + upper).max(0),
            lower,
            write,
            upper,
            template,
        })
}

fn spec(id: &str, axes: &[AxisCase], fit: Fit, conflict: bool, retries: u32) -> TaskSpec {
    let of = |entry: &dyn Fn(&AxisCase) -> i64| {
        Coordinate::from_fn(axes.len(), |axis| entry(&axes[axis]))
    };
    let roi = |offset, shape| Roi::new(offset, shape).expect("small");
    TaskSpec {
        fit,
        read_write_conflict: conflict,
        max_retries: retries,
        allow_uncovered: true,
        ..TaskSpec::new(
            id,
            roi(of(&|a| a.begin), of(&|a| a.extent)),
            roi(of(&|a| a.template), of(&|a| a.lower + a.write + a.upper)),
            roi(of(&|a| a.template + a.lower), of(&|a| a.write)),
        )
    }
}

fn fits() -> impl Strategy<Value = Fit> {
    select(Fit::ALL.to_vec())
}

/// A task of 1 to 4 axes.
pub(crate) fn task() -> impl Strategy<Value = TaskSpec> {
    (1usize..=4).prop_flat_map(|dims| task_of(dims, "t"))
}

fn task_of(dims: usize, id: &'static str) -> impl Strategy<Value = TaskSpec> {
    (
        prop::collection::vec(axis(dims), dims),
        fits(),
        any::<bool>(),
        0u32..3,
    )
        .prop_map(move |(axes, fit, conflict, retries)| spec(id, &axes, fit, conflict, retries))
}

/// Up to four tasks of one rank, and forward edges between them.
pub(crate) fn pipeline() -> impl Strategy<Value = (Vec<TaskSpec>, Vec<(usize, usize)>)> {
    (1usize..=4, 1usize..=4).prop_flat_map(|(dims, count)| {
        let tasks: Vec<_> = ["d", "b", "c", "a"][..count]
            .iter()
            .map(|id| task_of(dims, id))
            .collect();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .collect();
        let edges = prop::sample::subsequence(pairs.clone(), 0..=pairs.len());
        (tasks, edges)
    })
}
