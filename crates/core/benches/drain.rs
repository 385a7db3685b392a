//! Drain rates: acquire and release every block of a task, one at a time.
//!
//! `cargo bench -p bellis-core --bench drain`

use bellis_core::{
    Coordinate, MemoryDoneMap, Roi, Scheduler, TaskGraph, TaskIndex, TaskInputs, TaskSpec,
};
use divan::counter::ItemsCount;
use divan::Bencher;

const FIRST: TaskIndex = TaskIndex(0);
const SECOND: TaskIndex = TaskIndex(1);

fn main() {
    divan::main();
}

fn roi(dims: usize, offset: i64, shape: i64) -> Roi {
    Roi::new(
        Coordinate::splat(dims, offset),
        Coordinate::splat(dims, shape),
    )
    .expect("valid")
}

/// 3-D with conflicts: blocks of 10 with 2 of context on each side, `side` blocks per axis.
fn with_context(side: i64) -> TaskGraph {
    let spec = TaskSpec::new(
        "t",
        roi(3, -2, side * 10 + 4),
        roi(3, -2, 14),
        roi(3, 0, 10),
    );
    TaskGraph::new(vec![spec], &[]).expect("valid")
}

/// 1-D without conflicts.
fn line(count: i64) -> TaskGraph {
    let mut spec = TaskSpec::new("t", roi(1, 0, count * 10), roi(1, 0, 10), roi(1, 0, 10));
    spec.read_write_conflict = false;
    TaskGraph::new(vec![spec], &[]).expect("valid")
}

/// Two 3-D tasks of which the second reads the first with 2 of context.
fn chain(side: i64) -> TaskGraph {
    let mut first = TaskSpec::new("a", roi(3, 0, side * 10), roi(3, 0, 10), roi(3, 0, 10));
    first.read_write_conflict = false;
    let mut second = TaskSpec::new(
        "b",
        roi(3, -2, side * 10 + 4),
        roi(3, -2, 14),
        roi(3, 0, 10),
    );
    second.read_write_conflict = false;
    TaskGraph::new(vec![first, second], &[(FIRST, SECOND)]).expect("valid")
}

fn drain(scheduler: &mut Scheduler, tasks: &[TaskIndex]) -> u64 {
    let mut count = 0;
    for &task in tasks {
        while let Some(block) = scheduler.acquire(task) {
            scheduler.release(task, block).expect("held");
            count += 1;
        }
    }
    count
}

fn bench_drain(bencher: Bencher, graph: &TaskGraph, tasks: &[TaskIndex]) {
    let blocks: u128 = tasks
        .iter()
        .map(|&t| graph.grid(t).expect("in graph").count())
        .sum();
    bencher
        .counter(ItemsCount::new(blocks as u64))
        .with_inputs(|| Scheduler::new(graph.clone(), Vec::new()).expect("covered"))
        .bench_local_values(|mut scheduler| {
            assert_eq!(u128::from(drain(&mut scheduler, tasks)), blocks);
            scheduler
        });
}

#[divan::bench(args = [20, 40, 100, 215], sample_count = 7, sample_size = 1)]
fn drain_3d_with_context(bencher: Bencher, side: i64) {
    bench_drain(bencher, &with_context(side), &[FIRST]);
}

#[divan::bench(args = [100_000, 10_000_000], sample_count = 7, sample_size = 1)]
fn drain_1d(bencher: Bencher, count: i64) {
    bench_drain(bencher, &line(count), &[FIRST]);
}

#[divan::bench(args = [40, 100], sample_count = 7, sample_size = 1)]
fn drain_chain_3d(bencher: Bencher, side: i64) {
    bench_drain(bencher, &chain(side), &[FIRST, SECOND]);
}

#[divan::bench(sample_count = 7, sample_size = 1)]
fn build_1e9_blocks(bencher: Bencher) {
    bencher.bench_local(|| Scheduler::new(with_context(1000), Vec::new()).expect("covered"));
}

/// Done bytes of the first task, of which `open` aren't set.
fn done(graph: &TaskGraph, open: usize) -> Vec<TaskInputs> {
    let cells = graph
        .grid(FIRST)
        .expect("in graph")
        .store_shape()
        .product()
        .expect("small");
    let mut bytes = vec![1; cells as usize];
    for k in 0..open {
        let at = k * bytes.len() / open;
        bytes[at] = 0;
    }
    vec![TaskInputs {
        done: Some(Box::new(MemoryDoneMap::from_done(bytes))),
        ..TaskInputs::default()
    }]
}

/// A run's resume of a million blocks: all done, or all but some.
#[divan::bench(args = [0, 1, 1000], sample_count = 7, sample_size = 1)]
fn resume_3d_1e6_done_but(bencher: Bencher, open: usize) {
    let graph = with_context(100);
    bencher
        .counter(ItemsCount::new(1_000_000u64))
        .with_inputs(|| done(&graph, open))
        .bench_local_values(|inputs| {
            let mut scheduler = Scheduler::eager(graph.clone(), inputs).expect("covered");
            loop {
                while scheduler.drain_skips(10_000) {}
                let Some(block) = scheduler.acquire(FIRST) else {
                    break;
                };
                scheduler.release(FIRST, block).expect("held");
            }
            assert!(scheduler.is_finished(FIRST));
            scheduler
        });
}
