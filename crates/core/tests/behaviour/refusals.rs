//! B4: bad input and overflow are refused when a task or graph is built, and wrong calls change nothing.

use bellis_core::{
    BlockGrid, BlockIndex, CoreError, Fit, Scheduler, SkipMask, TaskGraph, TaskIndex, TaskInputs,
};

use crate::tasks::{alone, line, pair, task, FIRST};

fn validation(error: Option<CoreError>) -> (String, String, String) {
    match error {
        Some(CoreError::Validation {
            path,
            value,
            message,
        }) => (path, value, message),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn b4_more_blocks_than_can_be_counted_are_exact_or_refused() {
    let one: (&[i64], &[i64]) = (&[0, 0, 0], &[1, 1, 1]);
    let side = 10_000_000;
    let spec = task((&[0, 0, 0], &[side, side, side]), one, one, Fit::Valid);
    let grid = BlockGrid::new(&spec).expect("counted exactly");
    assert_eq!(grid.count(), 1_000_000_000_000_000_000_000);
    assert_eq!(grid.first_in_order(), None, "its blocks have no index");
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    assert!(matches!(
        graph.upstream(FIRST, BlockIndex(0)),
        Err(CoreError::UnknownBlock { .. })
    ));
    let (path, _, message) = validation(Scheduler::new(graph, Vec::new()).err());
    assert_eq!(path, "tasks[0].totalRoi");
    assert!(message.contains("2^53"), "{message}");

    let unit = [1; 8];
    let spec = task(
        (&[0; 8], &[1 << 60; 8]),
        (&[0; 8], &unit),
        (&[0; 8], &unit),
        Fit::Valid,
    );
    let (path, value, message) = validation(BlockGrid::new(&spec).err());
    assert_eq!(path, "totalRoi");
    assert!(value.starts_with("Roi((0, 0"), "{value}");
    assert!(message.contains("larger blocks"), "{message}");
}

#[test]
fn b4_a_write_before_the_read_is_refused() {
    let spec = task((&[0], &[30]), (&[5], &[10]), (&[0], &[10]), Fit::Valid);
    let (path, value, _) = validation(BlockGrid::new(&spec).err());
    assert_eq!(
        (path.as_str(), value.as_str()),
        ("writeRoi", "Roi((0), (10))")
    );
}

#[test]
fn b4_ranks_that_differ_are_refused_in_a_task_and_between_tasks() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let mut b = task(
        (&[0, 0], &[30, 30]),
        (&[0, 0], &[10, 10]),
        (&[0, 0], &[10, 10]),
        Fit::Valid,
    );
    let graph = TaskGraph::new(vec![a.clone(), b.clone()], &[(FIRST, TaskIndex(1))]);
    let (path, _, message) = validation(graph.err());
    assert_eq!(path, "tasks[1].totalRoi");
    assert!(
        message.contains("1 axes") || message.contains("1 axis"),
        "{message}"
    );
    b.write_roi = a.write_roi;
    let (path, _, message) = validation(TaskGraph::new(vec![a, b], &[]).err());
    assert_eq!(path, "tasks[1].writeRoi");
    assert!(message.contains("2 axes like totalRoi, not 1"), "{message}");
}

#[test]
fn a_mask_of_the_wrong_size_is_refused() {
    let spec = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    let inputs = TaskInputs {
        skip_mask: Some(SkipMask::new(vec![0; 4])),
        ..TaskInputs::default()
    };
    let (path, value, message) = validation(Scheduler::new(graph, vec![inputs]).err());
    assert_eq!(
        (path.as_str(), value.as_str()),
        ("tasks[0].skipMask", "4 cells")
    );
    assert_eq!(message, "must have 3 cells, of shape (3)");
}

#[test]
fn wrong_calls_are_errors_and_change_nothing() {
    let spec = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let mut scheduler = alone(&spec);
    let before = scheduler.counters(FIRST);
    let unheld = scheduler
        .release(FIRST, BlockIndex(1))
        .expect_err("not acquired");
    assert_eq!(
        unheld,
        CoreError::NotHeld {
            task_id: "a".to_owned(),
            block: BlockIndex(1),
            number: 1
        }
    );
    for (task, block) in [
        (FIRST, BlockIndex(3)),
        (FIRST, BlockIndex(u64::MAX)),
        (TaskIndex(1), BlockIndex(0)),
    ] {
        assert!(scheduler.release(task, block).is_err());
        assert!(scheduler.fail(task, block).is_err());
        assert!(scheduler.give_back(task, block).is_err());
        assert!(scheduler.skip(task, block).is_err());
        assert!(scheduler.checked(task, block, true).is_err());
        assert!(scheduler.record_done(task, block, None).is_err());
    }
    assert_eq!(scheduler.acquire(TaskIndex(9)), None);
    assert!(scheduler.abandon(TaskIndex(9)).is_empty());
    assert_eq!(scheduler.counters(FIRST), before);
    let block = scheduler.acquire(FIRST).expect("ready");
    scheduler.release(FIRST, block).expect("held");
    assert!(scheduler.release(FIRST, block).is_err(), "returned twice");
    assert_eq!(scheduler.counters(FIRST).completed, 1);
}

#[test]
fn graph_questions_about_unknown_blocks_are_errors() {
    let a = line("a", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let b = line("b", (0, 30), (0, 10), (0, 10), Fit::Valid);
    let graph = pair(&a, &b);
    assert!(matches!(
        graph.upstream(FIRST, BlockIndex(3)),
        Err(CoreError::UnknownBlock { .. })
    ));
    assert!(matches!(
        graph.downstream(TaskIndex(2), BlockIndex(0)),
        Err(CoreError::UnknownTask { .. })
    ));
    assert_eq!(graph.task("b"), Some(TaskIndex(1)));
    assert_eq!(graph.task("c"), None);
}
