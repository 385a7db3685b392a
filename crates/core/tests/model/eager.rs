//! A run's eager skips end with the counters of the lazy ones, whatever is done, masked or checked.

use bellis_core::{
    BlockIndex, Counters, DoneMap, FailOutcome, MemoryDoneMap, Order, RecordError, Scheduler,
    SkipMask, TaskIndex, TaskInputs, TaskSpec,
};
use proptest::prelude::*;

use crate::agreement::graph_of;
use crate::generate::pipeline;

/// A done map without words, so that cells are asked one by one.
struct Wordless(MemoryDoneMap);

impl DoneMap for Wordless {
    fn is_done(&self, cell: u64) -> bool {
        self.0.is_done(cell)
    }

    fn record_done(
        &mut self,
        cell: u64,
        record: Option<&bellis_core::BlockRecord>,
    ) -> Result<(), RecordError> {
        self.0.record_done(cell, record)
    }

    fn record_undone(&mut self, cell: u64) -> Result<(), RecordError> {
        self.0.record_undone(cell)
    }

    fn record_failure(&mut self, cell: u64) -> Result<(), RecordError> {
        self.0.record_failure(cell)
    }
}

/// What a task brings, from random words.
#[derive(Clone, Debug)]
struct Case {
    done: Option<u64>,
    wordless: bool,
    mask: Option<u64>,
    check: Option<u64>,
    verify: bool,
    fails: u64,
}

fn case() -> impl Strategy<Value = Case> {
    // Often everything, so that whole tasks are skipped.
    let word = || {
        prop_oneof![
            Just(u64::MAX),
            any::<u64>(),
            (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a | b)
        ]
    };
    (
        prop::option::of(word()),
        any::<bool>(),
        prop::option::of(word()),
        prop::option::of(word()),
        any::<bool>(),
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c),
    )
        .prop_map(|(done, wordless, mask, check, verify, fails)| Case {
            done,
            wordless,
            mask,
            check,
            verify,
            fails,
        })
}

fn bit(word: u64, at: u64) -> bool {
    word >> (at % 59) & 1 == 1
}

fn inputs(specs: &[TaskSpec], cases: &[Case]) -> Vec<TaskInputs> {
    specs
        .iter()
        .zip(cases)
        .map(|(spec, case)| {
            let grid = bellis_core::BlockGrid::new(spec).expect("valid");
            let cells = grid.store_shape().product().expect("small") as u64;
            let done = case.done.map(|word| {
                let map =
                    MemoryDoneMap::from_done((0..cells).map(|c| u8::from(bit(word, c))).collect());
                let boxed: Box<dyn DoneMap + Send> = if case.wordless {
                    Box::new(Wordless(map))
                } else {
                    Box::new(map)
                };
                boxed
            });
            let mask = case.mask.map(|word| {
                let bytes = (0..grid.count() as u64).map(|b| u8::from(bit(word, b)) * 2);
                SkipMask::new(bytes.collect::<Vec<u8>>())
            });
            TaskInputs {
                done,
                skip_mask: mask,
                has_check: case.check.is_some(),
                verify_done: case.verify,
            }
        })
        .collect()
}

/// Fails or completes a held block; the outcome depends on the block alone.
fn finish(scheduler: &mut Scheduler, task: TaskIndex, block: BlockIndex, case: &Case) {
    if bit(case.fails, block.0) {
        let retries = scheduler.graph().spec(task).expect("in graph").max_retries;
        match scheduler.fail(task, block).expect("held") {
            FailOutcome::Retry { attempts } => assert!(attempts <= retries),
            FailOutcome::Permanent { .. } => {
                assert_eq!(scheduler.attempts(task, block), retries + 1);
            }
        }
    } else {
        scheduler.record_done(task, block, None).expect("in memory");
        scheduler.release(task, block).expect("held");
    }
}

fn run_lazily(mut scheduler: Scheduler, cases: &[Case]) -> Vec<Counters> {
    loop {
        let mut moved = false;
        for (task, case) in scheduler.graph().task_indices().zip(cases) {
            while let Some(block) = scheduler.acquire(task) {
                moved = true;
                match case.check {
                    Some(word) if bit(word, block.0) => scheduler.skip(task, block).expect("held"),
                    _ => finish(&mut scheduler, task, block, case),
                }
            }
        }
        if !moved {
            break;
        }
    }
    counters(&scheduler)
}

fn run_eagerly(mut scheduler: Scheduler, cases: &[Case], budget: usize) -> Vec<Counters> {
    loop {
        while scheduler.drain_skips(budget) {}
        scheduler.check_invariants().expect("consistent");
        let mut moved = false;
        for (task, case) in scheduler.graph().task_indices().zip(cases) {
            let mut blocks = Vec::new();
            scheduler.take_unchecked(task, budget, &mut blocks);
            assert!(case.check.is_some() || blocks.is_empty());
            scheduler.check_invariants().expect("consistent");
            for block in blocks {
                moved = true;
                let done = case.check.is_some_and(|word| bit(word, block.0));
                scheduler.checked(task, block, done).expect("being checked");
            }
            let runnable = scheduler.runnable(task);
            let acquired = scheduler.acquire(task);
            assert_eq!(
                acquired.is_some(),
                runnable > 0,
                "runnable blocks can be acquired"
            );
            if let Some(block) = acquired {
                moved = true;
                finish(&mut scheduler, task, block, case);
            }
        }
        if !moved {
            break;
        }
    }
    assert!(!scheduler.drain_skips(1));
    counters(&scheduler)
}

fn counters(scheduler: &Scheduler) -> Vec<Counters> {
    for task in scheduler.graph().task_indices() {
        assert!(
            scheduler.is_finished(task),
            "{:?}",
            scheduler.counters(task)
        );
    }
    scheduler
        .graph()
        .task_indices()
        .map(|task| scheduler.counters(task))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn eager_and_lazy_skips_end_alike(
        (specs, edges) in pipeline(),
        cases in prop::collection::vec(case(), 4),
        budget in 1usize..40,
        depth_first in any::<bool>(),
    ) {
        let build = |eager: bool| {
            let graph = graph_of(&specs, &edges);
            let make = if eager { Scheduler::eager } else { Scheduler::new };
            let mut scheduler = make(graph, inputs(&specs, &cases)).expect("uncovered is allowed");
            if depth_first {
                scheduler.set_order(Order::DepthFirst);
            }
            scheduler
        };
        let lazy = run_lazily(build(false), &cases);
        let eager = run_eagerly(build(true), &cases, budget);
        prop_assert_eq!(lazy, eager);
    }
}
