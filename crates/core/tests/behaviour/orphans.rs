//! Case 11: levels without blocks, and blocks orphaned through two parents.

use bellis_core::{FailOutcome, Fit};

use crate::tasks::{alone, drain, grid, task, FIRST};

#[test]
fn case_11_phantom_levels_do_not_exist() {
    let spec = task(
        (&[0, 0], &[318, 318]),
        (&[0, 0], &[288, 288]),
        (&[109, 109], &[70, 70]),
        Fit::Overhang,
    );
    assert_eq!(grid(&spec).count(), 4);
    let mut scheduler = alone(&spec);
    assert_eq!(drain(&mut scheduler), 1, "never more than one is ready");
    assert_eq!(scheduler.counters(FIRST).completed, 4);
}

#[test]
fn case_11_orphans_are_counted_once() {
    for (retries, calls) in [(0, 16), (2, 48)] {
        let mut spec = task(
            (&[0, 0], &[25, 25]),
            (&[0, 0], &[7, 7]),
            (&[3, 3], &[1, 1]),
            Fit::Valid,
        );
        spec.max_retries = retries;
        let mut scheduler = alone(&spec);
        let (mut called, mut orphaned) = (0, 0);
        while let Some(block) = scheduler.acquire(FIRST) {
            called += 1;
            match scheduler.fail(FIRST, block).expect("held") {
                FailOutcome::Retry { attempts } => assert!(attempts <= retries),
                FailOutcome::Permanent { orphaned: more } => orphaned += more,
            }
        }
        let counters = scheduler.counters(FIRST);
        assert_eq!(
            (counters.total, counters.failed, counters.orphaned),
            (361, 16, 345)
        );
        assert_eq!((called, orphaned), (calls, 345));
        assert!(scheduler.is_finished(FIRST));
    }
}
