//! Random histories with everything that a run does; the scheduler's own check after each step.

use std::collections::HashSet;

use bellis_core::{FailOutcome, Order, Scheduler, TaskIndex};
use proptest::prelude::*;

use crate::agreement::graph_of;
use crate::generate::pipeline;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn every_history_stays_consistent_and_ends(
        (specs, edges) in pipeline(),
        depth_first in any::<bool>(),
        steps in prop::collection::vec((0u8..20, any::<u16>()), 0..300),
    ) {
        let mut scheduler =
            Scheduler::eager(graph_of(&specs, &edges), Vec::new()).expect("uncovered is allowed");
        if depth_first {
            scheduler.set_order(Order::DepthFirst);
        }
        let mut held = Vec::new();
        let mut delayed = Vec::new();
        let mut settled = HashSet::new();
        for (kind, pick) in steps {
            let pick = usize::from(pick);
            match kind {
                0..=8 => {
                    let task = TaskIndex((pick % specs.len()) as u32);
                    if let Some(block) = scheduler.acquire(task) {
                        prop_assert!(!settled.contains(&(task, block)), "handed out twice");
                        prop_assert!(scheduler.is_held(task, block));
                        held.push((task, block));
                    }
                }
                19 if pick % 7 == 0 => {
                    let task = TaskIndex((pick / 7 % specs.len()) as u32);
                    for task in scheduler.abandon(task) {
                        prop_assert!(scheduler.is_abandoned(task));
                        prop_assert_eq!(scheduler.acquire(task), None);
                    }
                    prop_assert_eq!(scheduler.abandon(task), []);
                }
                9..=10 if !delayed.is_empty() => {
                    let (task, block) = delayed.swap_remove(pick % delayed.len());
                    let ready = scheduler.retry_now(task, block);
                    prop_assert_eq!(ready, !scheduler.is_abandoned(task));
                    prop_assert!(!scheduler.retry_now(task, block));
                }
                _ if held.is_empty() => {}
                11..=13 => {
                    let (task, block) = held.swap_remove(pick % held.len());
                    scheduler.give_back(task, block).expect("held");
                    if !scheduler.is_abandoned(task) {
                        prop_assert_eq!(scheduler.acquire(task), Some(block), "at the head");
                        scheduler.give_back(task, block).expect("held");
                    }
                    prop_assert_eq!(scheduler.attempts(task, block), scheduler.attempts(task, block));
                }
                14 => {
                    let (task, block) = held.swap_remove(pick % held.len());
                    match scheduler.fail_delayed(task, block).expect("held") {
                        FailOutcome::Retry { .. } => delayed.push((task, block)),
                        FailOutcome::Permanent { .. } => {
                            settled.insert((task, block));
                        }
                    }
                }
                15 => {
                    let (task, block) = held.swap_remove(pick % held.len());
                    if let FailOutcome::Permanent { .. } = scheduler.fail(task, block).expect("held") {
                        settled.insert((task, block));
                    }
                }
                _ => {
                    let (task, block) = held.swap_remove(pick % held.len());
                    scheduler.release(task, block).expect("held");
                    settled.insert((task, block));
                }
            }
            prop_assert_eq!(scheduler.check_invariants(), Ok(()));
        }
        // Whatever happened, the rest can be finished.
        for (task, block) in delayed {
            scheduler.retry_now(task, block);
        }
        loop {
            for (task, block) in held.drain(..) {
                scheduler.release(task, block).expect("held");
            }
            for task in scheduler.graph().task_indices() {
                held.extend(scheduler.acquire(task).map(|block| (task, block)));
            }
            if held.is_empty() {
                break;
            }
        }
        for task in scheduler.graph().task_indices() {
            prop_assert!(scheduler.is_finished(task));
            let counters = scheduler.counters(task);
            prop_assert_eq!(counters.ready + counters.pending + counters.processing, 0);
        }
        prop_assert_eq!(scheduler.check_invariants(), Ok(()));
    }
}
