//! Tasks of 10^9 blocks stay small until they run.

use bellis_core::{Fit, Scheduler, TaskGraph};

use crate::tasks::{task, FIRST};

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split(' ')
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|pages| pages * 4096)
}

#[test]
fn a_task_of_a_billion_blocks_takes_memory_for_what_was_touched_alone() {
    let spec = task(
        (&[-2, -2, -2], &[10_004, 10_004, 10_004]),
        (&[-2, -2, -2], &[14, 14, 14]),
        (&[0, 0, 0], &[10, 10, 10]),
        Fit::Valid,
    );
    let before = resident();
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    let mut scheduler = Scheduler::new(graph, Vec::new()).expect("a valid scheduler");
    assert_eq!(scheduler.counters(FIRST).total, 1_000_000_000);
    assert_eq!(scheduler.counters(FIRST).ready, 125_000_000);
    for _ in 0..1000 {
        let block = scheduler.acquire(FIRST).expect("ready");
        scheduler.release(FIRST, block).expect("held");
    }
    if let (Some(before), Some(after)) = (before, resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 50_000_000, "{grown} bytes became resident");
    }
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let spec = task((&[0], &[1 << 53]), (&[0], &[1]), (&[0], &[1]), Fit::Valid);
    let graph = TaskGraph::new(vec![spec], &[]).expect("a valid graph");
    match Scheduler::new(graph, Vec::new()).err() {
        Some(bellis_core::CoreError::OutOfMemory { task_id, bytes }) => {
            assert_eq!((task_id.as_str(), bytes), ("t", 1 << 53));
        }
        other => panic!("not refused: {other:?}"),
    }
}
