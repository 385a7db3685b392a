//! B4 on checks and stores, give-backs, abandonment and the order of a run.

use bellis_core::{
    BlockIndex, DoneMap, Fit, MemoryDoneMap, Order, Scheduler, SkipMask, TaskGraph, TaskInputs,
};

use crate::tasks::{line, pair, FIRST, SECOND};

fn one(inputs: TaskInputs, eager: bool) -> Scheduler {
    let spec = line("a", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    let make = if eager {
        Scheduler::eager
    } else {
        Scheduler::new
    };
    make(graph, vec![inputs]).expect("a valid scheduler")
}

fn done(cells: [u8; 4]) -> Option<Box<dyn DoneMap + Send>> {
    Some(Box::new(MemoryDoneMap::from_done(cells.to_vec())))
}

#[test]
fn b4_done_is_skipped_without_asking_and_verified_only_on_demand() {
    for verify_done in [false, true] {
        let inputs = TaskInputs {
            done: done([1, 0, 1, 0]),
            skip_mask: Some(SkipMask::new([0, 1, 0, 0])),
            has_check: true,
            verify_done,
        };
        let mut scheduler = one(inputs, true);
        while scheduler.drain_skips(10) {}
        let mut asked = Vec::new();
        scheduler.take_unchecked(FIRST, 10, &mut asked);
        let expected: &[u64] = if verify_done { &[0, 2, 3] } else { &[3] };
        assert_eq!(
            asked,
            expected.iter().map(|&b| BlockIndex(b)).collect::<Vec<_>>()
        );
        assert_eq!(scheduler.acquire(FIRST), None, "nothing before the answers");
        for &block in &asked {
            scheduler
                .checked(FIRST, block, block == BlockIndex(0))
                .expect("asked");
        }
        let mut run = Vec::new();
        scheduler.acquire_batch(FIRST, 10, &mut run);
        let expected: &[u64] = if verify_done { &[2, 3] } else { &[3] };
        assert_eq!(
            run,
            expected.iter().map(|&b| BlockIndex(b)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_mask_is_met_inside_acquire_and_counted() {
    let inputs = TaskInputs {
        skip_mask: Some(SkipMask::new([1, 0, 1, 1])),
        ..TaskInputs::default()
    };
    let mut scheduler = one(inputs, false);
    let block = scheduler.acquire(FIRST).expect("one isn't masked");
    assert_eq!(block, BlockIndex(1));
    let counters = scheduler.counters(FIRST);
    assert_eq!((counters.completed, counters.skipped), (1, 1));
    scheduler.release(FIRST, block).expect("held");
    assert_eq!(scheduler.acquire(FIRST), None);
    let counters = scheduler.counters(FIRST);
    assert_eq!((counters.completed, counters.skipped), (4, 3));
}

#[test]
fn a_finished_rerun_needs_nobody() {
    let a = line("a", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let b = line("b", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let inputs = || TaskInputs {
        done: done([1; 4]),
        ..TaskInputs::default()
    };
    let scheduler =
        Scheduler::eager(pair(&a, &b), vec![inputs(), inputs()]).expect("a valid scheduler");
    for task in [FIRST, SECOND] {
        assert!(scheduler.is_finished(task) && scheduler.was_done_at_start(task));
        assert_eq!(scheduler.counters(task).skipped, 4);
        assert_eq!(scheduler.runnable(task), 0);
    }
    let mut scheduler = Scheduler::eager(pair(&a, &b), vec![inputs(), TaskInputs::default()])
        .expect("a valid scheduler");
    assert_eq!(
        scheduler.runnable(SECOND),
        4,
        "a finished stage unlocks the next at once"
    );
    assert_eq!(scheduler.acquire(SECOND), Some(BlockIndex(0)));
}

#[test]
fn a_done_block_whose_upstream_fails_is_orphaned_and_not_skipped() {
    let a = line("a", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let b = line("b", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let inputs = vec![
        TaskInputs::default(),
        TaskInputs {
            done: done([1; 4]),
            ..TaskInputs::default()
        },
    ];
    let mut scheduler = Scheduler::eager(pair(&a, &b), inputs).expect("a valid scheduler");
    while scheduler.drain_skips(10) {}
    assert_eq!(scheduler.counters(SECOND).skipped, 0);
    let block = scheduler.acquire(FIRST).expect("ready");
    for _ in 0..3 {
        scheduler.fail(FIRST, block).expect("held");
        while scheduler.acquire(FIRST).is_some_and(|next| next != block) {}
    }
    let counters = scheduler.counters(SECOND);
    assert_eq!((counters.orphaned, counters.pending), (1, 3));
}

#[test]
fn drained_skips_are_bounded_by_their_budget() {
    let a = line("a", (0, 10_000), (0, 1), (0, 1), Fit::Valid);
    let b = line("b", (0, 10_000), (0, 1), (0, 1), Fit::Valid);
    let mut cells = vec![1u8; 10_000];
    cells[9_999] = 0;
    let inputs = TaskInputs {
        skip_mask: Some(SkipMask::new(cells)),
        ..TaskInputs::default()
    };
    let mut scheduler = Scheduler::eager(pair(&a, &b), vec![inputs, TaskInputs::default()])
        .expect("a valid scheduler");
    let mut before = 0;
    while scheduler.drain_skips(100) {
        let skipped = scheduler.counters(FIRST).skipped;
        assert!(skipped - before <= 200, "{skipped} after {before}");
        assert!(skipped > before, "each call does something");
        before = skipped;
    }
    assert_eq!(scheduler.counters(FIRST).skipped, 9_999);
    assert_eq!(scheduler.runnable(SECOND), 9_999);
    assert_eq!(scheduler.acquire(FIRST), Some(BlockIndex(9_999)));
}

#[test]
fn blocks_given_back_come_first_and_in_their_order() {
    let mut scheduler = one(TaskInputs::default(), false);
    let mut taken = Vec::new();
    scheduler.acquire_batch(FIRST, 3, &mut taken);
    for &block in taken[1..].iter().rev() {
        scheduler.give_back(FIRST, block).expect("held");
    }
    assert_eq!(scheduler.attempts(FIRST, taken[1]), 0);
    let mut again = Vec::new();
    scheduler.acquire_batch(FIRST, 9, &mut again);
    assert_eq!(again, [1, 2, 3].map(BlockIndex));
}

#[test]
fn an_abandoned_task_takes_those_after_it_along() {
    let a = line("a", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let b = line("b", (0, 40), (0, 10), (0, 10), Fit::Valid);
    let mut scheduler = Scheduler::eager(pair(&a, &b), Vec::new()).expect("a valid scheduler");
    let first = scheduler.acquire(FIRST).expect("ready");
    scheduler.release(FIRST, first).expect("held");
    let held = scheduler.acquire(FIRST).expect("ready");
    let back = scheduler.acquire(FIRST).expect("ready");
    assert_eq!(scheduler.abandon(FIRST), [FIRST, SECOND]);
    assert_eq!(scheduler.counters(FIRST).orphaned, 1);
    assert_eq!(scheduler.counters(SECOND).orphaned, 4);
    assert!(!scheduler.is_finished(FIRST), "two blocks are out");
    scheduler.release(FIRST, held).expect("held");
    scheduler.give_back(FIRST, back).expect("held");
    let counters = scheduler.counters(FIRST);
    assert_eq!((counters.completed, counters.orphaned), (2, 2));
    assert!(scheduler.is_finished(FIRST));
    scheduler.check_invariants().expect("consistent");
}

#[test]
fn depth_first_takes_what_was_unlocked_before_further_roots() {
    let mut spec = line("a", (-2, 104), (-2, 14), (0, 10), Fit::Valid);
    spec.read_write_conflict = true;
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    let open = |order| {
        let mut scheduler = Scheduler::new(graph.clone(), Vec::new()).expect("a valid scheduler");
        scheduler.set_order(order);
        let mut indices = Vec::new();
        while let Some(block) = scheduler.acquire(FIRST) {
            scheduler.release(FIRST, block).expect("held");
            indices.push(block.0);
        }
        indices
    };
    assert_eq!(open(Order::Levels), [1, 3, 5, 7, 9, 0, 2, 4, 6, 8]);
    assert_eq!(open(Order::DepthFirst), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]);
}
