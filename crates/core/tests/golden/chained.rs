//! Two tasks of any geometry: who waits for whom, and that both always finish.

use bellis_core::{BlockIndex, CoreError, Scheduler, TaskGraph, TaskIndex};
use serde_json::Value;

use crate::vectors::{big, cases, roi, spec};

const UP: TaskIndex = TaskIndex(0);
const DOWN: TaskIndex = TaskIndex(1);

#[test]
fn chained_lines() {
    let cases = cases("chained.jsonl");
    for case in &cases {
        check(case);
    }
    assert_eq!(cases.len(), 77);
}

fn check(case: &Value) {
    let name = &case["case"];
    let upstream = spec("up", &case["upstream_task"]);
    let mut downstream = spec("down", &case["downstream_task"]);
    let start_at_once: Vec<u128> = case["start_at_once"]
        .as_array()
        .expect("a list")
        .iter()
        .map(big)
        .collect();
    let build = |downstream| {
        TaskGraph::new(vec![upstream.clone(), downstream], &[(UP, DOWN)]).expect("a valid graph")
    };
    match build(downstream.clone()).check_covered() {
        Ok(()) => assert!(start_at_once.is_empty(), "case {name} was not refused"),
        Err(CoreError::Uncovered {
            task_id,
            upstream_id,
            ..
        }) => {
            assert!(!start_at_once.is_empty(), "case {name} was refused");
            assert_eq!((task_id.as_str(), upstream_id.as_str()), ("down", "up"));
            downstream.allow_uncovered = true;
        }
        Err(other) => panic!("case {name}: {other}"),
    }
    let graph = build(downstream);
    check_blocks(&graph, UP, &case["upstream_blocks"], case);
    check_blocks(&graph, DOWN, &case["downstream_blocks"], case);
    check_relation(&graph, DOWN, &case["waits_for"], case, TaskGraph::upstream);
    check_relation(&graph, UP, &case["releases"], case, TaskGraph::downstream);
    for reversed in [false, true] {
        check_run(graph.clone(), &start_at_once, reversed, name);
    }
}

fn check_blocks(graph: &TaskGraph, task: TaskIndex, blocks: &Value, case: &Value) {
    let grid = graph.grid(task).expect("in graph");
    let blocks = blocks.as_array().expect("a list");
    assert_eq!(grid.count(), blocks.len() as u128, "case {}", case["case"]);
    for block in blocks {
        let index = grid.by_number(big(&block[0])).expect("a block of the task");
        let at = |k: usize| roi(&Value::Array(vec![block[k].clone(), block[k + 1].clone()]));
        let last = block.as_array().expect("a list").len() - 2;
        assert_eq!(grid.write_roi(index), at(last), "case {}", case["case"]);
        if last == 3 {
            assert_eq!(grid.read_roi(index), at(1), "case {}", case["case"]);
        }
    }
}

type Related =
    fn(&TaskGraph, TaskIndex, BlockIndex) -> Result<Vec<(TaskIndex, BlockIndex)>, CoreError>;

fn check_relation(
    graph: &TaskGraph,
    from: TaskIndex,
    listed: &Value,
    case: &Value,
    related: Related,
) {
    let grid = graph.grid(from).expect("in graph");
    let other = if from == UP { DOWN } else { UP };
    let other_grid = graph.grid(other).expect("in graph");
    let listed = listed.as_array().expect("a list");
    for entry in listed {
        let block = grid.by_number(big(&entry[0])).expect("a block of the task");
        let expected: Vec<u128> = entry[1]
            .as_array()
            .expect("a list")
            .iter()
            .map(big)
            .collect();
        let actual: Vec<u128> = related(graph, from, block)
            .expect("in graph")
            .into_iter()
            .map(|(task, block)| {
                assert_eq!(task, other);
                other_grid.number(block)
            })
            .collect();
        assert_eq!(actual, expected, "case {} block {}", case["case"], entry[0]);
    }
    // Blocks that aren't listed are related to nothing.
    let mut next = grid.first_in_order();
    while let Some(block) = next {
        let number = grid.number(block);
        if !listed.iter().any(|entry| big(&entry[0]) == number) {
            assert_eq!(
                related(graph, from, block).expect("in graph"),
                [],
                "block {number}"
            );
        }
        next = grid.next_in_order(block);
    }
}

/// Runs both tasks to the end; what has no upstream block is ready from the start.
fn check_run(graph: TaskGraph, start_at_once: &[u128], reversed: bool, case: &Value) {
    let mut scheduler = Scheduler::new(graph, Vec::new()).expect("covered or allowed");
    let grid = scheduler.graph().grid(DOWN).expect("in graph").clone();
    assert_eq!(
        scheduler.counters(DOWN).ready,
        start_at_once.len() as u64,
        "case {case}"
    );
    let mut held = Vec::new();
    scheduler.acquire_batch(DOWN, usize::MAX, &mut held);
    let mut numbers: Vec<u128> = held.iter().map(|&block| grid.number(block)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, start_at_once, "case {case}");
    let mut upstream = Vec::new();
    scheduler.acquire_batch(UP, usize::MAX, &mut upstream);
    if reversed {
        upstream.reverse();
    }
    for block in upstream {
        scheduler.release(UP, block).expect("held");
        let from = held.len();
        scheduler.acquire_batch(DOWN, usize::MAX, &mut held);
        let unlocked: Vec<u128> = held[from..]
            .iter()
            .map(|&block| grid.number(block))
            .collect();
        assert!(
            unlocked.is_sorted(),
            "case {case}: {unlocked:?} are not by ascending number"
        );
        scheduler.check_invariants().expect("consistent");
    }
    for block in held {
        scheduler.release(DOWN, block).expect("held once");
    }
    for task in [UP, DOWN] {
        let counters = scheduler.counters(task);
        assert_eq!(counters.completed, counters.total, "case {case}");
    }
}
