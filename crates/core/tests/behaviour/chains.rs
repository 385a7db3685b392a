//! Case 4e, B1, B2, B2b and B4: chained tasks of unequal geometry.

use bellis_core::{BlockIndex, CoreError, Fit, Scheduler, TaskGraph, TaskIndex, TaskSpec};

use crate::tasks::{drain, line, pair, FIRST, SECOND};

/// What each block of the second task waits for, both by index.
fn waits_for(graph: &TaskGraph) -> Vec<Vec<u64>> {
    let count = graph.grid(SECOND).expect("in graph").count() as u64;
    (0..count)
        .map(|block| {
            let upstream = graph.upstream(SECOND, BlockIndex(block)).expect("in graph");
            upstream.into_iter().map(|(_, block)| block.0).collect()
        })
        .collect()
}

fn run(graph: TaskGraph) -> [u64; 2] {
    let mut scheduler = Scheduler::new(graph, Vec::new()).expect("covered");
    drain(&mut scheduler);
    scheduler.check_invariants().expect("consistent");
    [FIRST, SECOND].map(|task| {
        let counters = scheduler.counters(task);
        assert_eq!(counters.completed, counters.total);
        counters.completed
    })
}

fn refusal(graph: TaskGraph) -> (usize, String) {
    match Scheduler::new(graph, Vec::new()).err() {
        Some(CoreError::Uncovered {
            task_id,
            upstream_id,
            axis,
            region,
        }) => {
            assert_eq!((task_id.as_str(), upstream_id.as_str()), ("b", "a"));
            (axis, region.to_string())
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn allowed(spec: &TaskSpec) -> TaskSpec {
    TaskSpec {
        allow_uncovered: true,
        ..spec.clone()
    }
}

#[test]
fn b1_chained_tasks_with_asymmetric_context_finish() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let above = line("b", (0, 45), (0, 25), (0, 10), Fit::Shrink);
    assert_eq!(
        waits_for(&pair(&a, &above)),
        [vec![0, 1, 2], vec![1, 2], vec![2]]
    );
    assert_eq!(run(pair(&a, &above)), [3, 3]);
    let below = line("b", (-15, 45), (-15, 25), (0, 10), Fit::Shrink);
    assert_eq!(
        waits_for(&pair(&a, &below)),
        [vec![0], vec![0, 1], vec![0, 1, 2]]
    );
    assert_eq!(run(pair(&a, &below)), [3, 3]);
    let both = line("b", (-15, 60), (-15, 40), (0, 10), Fit::Shrink);
    assert_eq!(run(pair(&a, &both)), [3, 3]);
}

#[test]
fn b2_a_downstream_task_on_a_part_of_the_volume_waits_for_that_part_only() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let part = line("b", (10, 10), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(waits_for(&pair(&a, &part)), [vec![1]]);
    assert_eq!(run(pair(&a, &part)), [3, 1]);
    let graph = pair(&a, &part);
    assert_eq!(graph.downstream(FIRST, BlockIndex(0)), Ok(Vec::new()));
    let over = line("b", (20, 30), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(refusal(pair(&a, &over)), (0, "Roi((30), (20))".to_owned()));
    let touching = line("b", (30, 30), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(
        refusal(pair(&a, &touching)),
        (0, "Roi((30), (30))".to_owned())
    );
    assert_eq!(run(pair(&a, &allowed(&touching))), [3, 3]);
}

#[test]
fn b2b_a_downstream_task_larger_than_its_upstream_is_refused_or_starts_what_waits_for_nothing() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let larger = line("b", (-10, 50), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(
        refusal(pair(&a, &larger)),
        (0, "Roi((-10), (10))".to_owned())
    );
    let mut scheduler = Scheduler::new(pair(&a, &allowed(&larger)), Vec::new()).expect("allowed");
    assert_eq!(scheduler.counters(SECOND).ready, 2);
    let mut outer = Vec::new();
    scheduler.acquire_batch(SECOND, 9, &mut outer);
    assert_eq!(outer, [BlockIndex(0), BlockIndex(4)]);
    assert_eq!(run(pair(&a, &allowed(&larger))), [3, 5]);

    let sevens = line("a", (0, 35), (0, 7), (0, 7), Fit::Valid);
    let fives = line("b", (0, 35), (0, 5), (0, 5), Fit::Valid);
    let expected: [&[u64]; 7] = [&[0], &[0, 1], &[1, 2], &[2], &[2, 3], &[3, 4], &[4]];
    assert_eq!(waits_for(&pair(&sevens, &fives)), expected);
    assert_eq!(run(pair(&sevens, &fives)), [5, 7]);
}

#[test]
fn case_4_an_upstream_without_blocks_is_refused_by_default() {
    let none = line("a", (0, 3), (0, 10), (0, 10), Fit::Valid);
    let b = line("b", (0, 20), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(refusal(pair(&none, &b)), (0, "Roi((0), (20))".to_owned()));
    assert_eq!(run(pair(&none, &allowed(&b))), [0, 2]);
    let empty = line("b", (0, 0), (0, 10), (0, 10), Fit::Valid);
    assert_eq!(
        run(pair(&none, &empty)),
        [0, 0],
        "nobody reads what nobody writes"
    );
}

#[test]
fn b4_each_block_runs_once_and_an_uncovered_rim_is_named() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let below = line("b", (-15, 45), (-15, 25), (0, 10), Fit::Shrink);
    let mut scheduler = Scheduler::new(pair(&a, &below), Vec::new()).expect("covered");
    let mut handed_out = Vec::new();
    for _ in 0..3 {
        let block = scheduler.acquire(FIRST).expect("ready");
        scheduler.release(FIRST, block).expect("held");
        scheduler.acquire_batch(SECOND, 9, &mut handed_out);
    }
    assert_eq!(handed_out, [0, 1, 2].map(BlockIndex));

    let valid = line("a", (0, 35), (0, 10), (0, 10), Fit::Valid);
    let shrink = line("b", (0, 35), (0, 10), (0, 10), Fit::Shrink);
    assert_eq!(
        refusal(pair(&valid, &shrink)),
        (0, "Roi((30), (5))".to_owned())
    );
    let mut scheduler =
        Scheduler::new(pair(&valid, &allowed(&shrink)), Vec::new()).expect("allowed");
    assert_eq!(
        scheduler.acquire(SECOND),
        Some(BlockIndex(3)),
        "the rim starts at once"
    );
}

#[test]
fn b1_property_a_diamond_of_unlike_tasks_finishes() {
    let specs = vec![
        line("a", (0, 100), (0, 10), (0, 10), Fit::Valid),
        line("b", (-4, 108), (-4, 15), (0, 7), Fit::Shrink),
        line("c", (0, 110), (0, 23), (0, 13), Fit::Shrink),
        line("d", (0, 100), (0, 9), (0, 9), Fit::Shrink),
    ];
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| (TaskIndex(a), TaskIndex(b)));
    let graph = TaskGraph::new(specs, &edges).expect("a valid graph");
    let mut scheduler = Scheduler::new(graph, Vec::new()).expect("covered");
    drain(&mut scheduler);
    for task in scheduler.graph().task_indices() {
        let counters = scheduler.counters(task);
        assert_eq!(counters.completed, counters.total, "task {task}");
    }
}

#[test]
fn a_block_may_wait_for_more_blocks_than_a_byte_counts() {
    let many = line("a", (0, 100_000), (0, 1), (0, 1), Fit::Valid);
    let all = line("b", (0, 100_000), (0, 100_000), (0, 100_000), Fit::Valid);
    let mut scheduler = Scheduler::new(pair(&many, &all), Vec::new()).expect("covered");
    let mut blocks = Vec::new();
    scheduler.acquire_batch(FIRST, usize::MAX, &mut blocks);
    let last = blocks.pop().expect("blocks");
    for block in blocks {
        scheduler.release(FIRST, block).expect("held");
    }
    assert_eq!(scheduler.acquire(SECOND), None);
    scheduler.release(FIRST, last).expect("held");
    assert_eq!(scheduler.acquire(SECOND), Some(BlockIndex(0)));
    scheduler.check_invariants().expect("consistent");

    let one = line("b", (0, 100_000), (0, 1), (0, 1), Fit::Valid);
    assert_eq!(
        run(pair(
            &TaskSpec {
                id: "a".to_owned(),
                ..all
            },
            &one
        )),
        [1, 100_000]
    );
}
