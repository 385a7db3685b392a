//! Blocks go out, come back, fail, and are tried again.

use bellis_core::run::{
    CheckAnswer, FailureKind, Nanos, OnBlockError, Order, Outcome, RunConfig, RunError,
    ShutdownReason, TaskConfig, Warning,
};
use bellis_core::TaskIndex;

use crate::graphs::Graph;
use crate::stage::{error, workers, Stage, Told};

fn keeping(max_workers: u32) -> TaskConfig {
    TaskConfig {
        on_block_error: OnBlockError::KeepWorker,
        ..workers(max_workers)
    }
}

#[test]
fn one_worker_takes_one_block_after_the_other_and_goes_home() {
    let mut stage = Stage::with(2, workers(1));
    stage.begin_with(1);
    stage.started(0, true);
    let (conn, blocks) = stage.arrive(0);
    assert_eq!(blocks, [0]);
    assert_eq!(stage.counters().processing, 1);
    stage.now = Nanos::from_millis(40);
    stage.succeed(conn, &[0]);
    stage.expect([Told::Grant(conn, vec![1])]);
    stage.now = Nanos::from_millis(41);
    stage.succeed(conn, &[1]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    assert!(stage.run.outcome().is_none());
    stage.goodbye(conn);
    stage.exit(0, bellis_core::run::ExitKind::Clean);
    stage.expect([Told::Finished]);
    assert_eq!(stage.run.outcome(), Some(&Outcome::Finished));
    assert_eq!(stage.counters().completed, 2);
}

#[test]
fn a_throw_ends_the_worker_and_the_block_is_tried_again_by_another() {
    let mut stage = Stage::with(1, workers(1));
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.throw(conn, 0);
    let failure = stage.failure();
    assert_eq!((failure.attempt, failure.permanent), (1, false));
    assert_eq!(failure.kind, FailureKind::Thrown);
    assert_eq!(failure.error.message, "boom");
    stage.expect([Told::Shutdown(conn, ShutdownReason::BlockFailed)]);
    stage.goodbye(conn);
    stage.expect_nothing();
    stage.exit(0, bellis_core::run::ExitKind::Code(1));
    stage.expect([Told::Start(0, 1)]);
    let counters = stage.counters();
    assert_eq!((counters.worker_failures, counters.failed_attempts), (1, 1));
    assert_eq!((counters.worker_starts, counters.worker_restarts), (2, 1));
    let (_, blocks) = stage.arrive(1);
    assert_eq!(blocks, [0]);
}

#[test]
fn a_kept_worker_goes_on_and_the_third_failure_is_for_good() {
    let mut stage = Stage::with(2, keeping(1));
    stage.now = Nanos::from_secs(1);
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.throw(conn, 0);
    assert!(!stage.failure().permanent);
    stage.expect([Told::Grant(conn, vec![1])]);
    stage.throw(conn, 1);
    stage.failure();
    stage.expect([Told::Grant(conn, vec![0])]);
    stage.throw(conn, 0);
    stage.failure();
    stage.expect([Told::Grant(conn, vec![1])]);
    stage.succeed(conn, &[1]);
    stage.expect([Told::Grant(conn, vec![0])]);
    stage.throw(conn, 0);
    let last = stage.failure();
    assert_eq!((last.attempt, last.permanent), (3, true));
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    let report = stage.run.report(TaskIndex(0)).unwrap();
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.counters.failed, 1);
    assert_eq!(report.workers[0].blocks, 5);
    assert_eq!(report.round_trip.count(), 1);
}

#[test]
fn retries_wait_longer_each_time_and_count_as_pending() {
    let delay = Nanos::from_millis(100);
    let mut stage = Stage::with(
        1,
        TaskConfig {
            retry_delay: delay,
            ..keeping(1)
        },
    );
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.throw(conn, 0);
    stage.failure();
    stage.expect_nothing();
    let counters = stage.counters();
    assert_eq!(
        (counters.pending, counters.processing, counters.ready),
        (1, 0, 0)
    );
    let failed_at = stage.now;
    stage.wait(delay.times(2));
    stage.expect([Told::Grant(conn, vec![0])]);
    let first = stage.now - failed_at;
    assert!(
        first >= Nanos::from_millis(75) && first <= Nanos::from_millis(125),
        "{first:?}"
    );
    stage.throw(conn, 0);
    stage.failure();
    let failed_at = stage.now;
    stage.wait(delay.times(4));
    stage.expect([Told::Grant(conn, vec![0])]);
    let second = stage.now - failed_at;
    assert!(
        second >= Nanos::from_millis(150) && second <= Nanos::from_millis(250),
        "{second:?}"
    );
}

#[test]
fn answers_that_come_late_twice_or_from_nowhere_change_nothing() {
    let mut stage = Stage::with(3, keeping(2));
    stage.begin_with(2);
    let (one, _) = stage.arrive(0);
    let (other, _) = stage.arrive(1);
    stage.succeed(one, &[0]);
    stage.expect([Told::Grant(one, vec![2])]);
    let before = stage.counters();
    stage.succeed(one, &[0, 0, 1, 77]);
    stage.throw(one, 0);
    stage.throw(other, 2);
    stage.give_back(one, &[1, 99]);
    stage.give_back(other, &[2]);
    stage.answer(0, &[CheckAnswer::Done]);
    stage.answer(9, &[CheckAnswer::Done]);
    let gone = bellis_core::run::ConnectionId {
        slot: 7,
        generation: 3,
    };
    stage.succeed(gone, &[1]);
    stage.acquire(gone, 5);
    stage.cut(gone);
    stage.goodbye(gone);
    stage.exit(40, bellis_core::run::ExitKind::Clean);
    stage.start_fails(41);
    stage.started(42, true);
    stage.expect_nothing();
    assert_eq!(stage.counters(), before);
}

#[test]
fn as_many_failures_as_allowed_stop_the_run() {
    let mut config = RunConfig::new(vec![keeping(2)]);
    config.max_failures = Some(1);
    let mut stage = Stage::new(Graph::row(5).without_retries(), config);
    stage.begin_with(2);
    let (one, _) = stage.arrive(0);
    let (other, _) = stage.arrive(1);
    stage.throw(one, 0);
    assert!(stage.failure().permanent);
    stage.expect([
        Told::Shutdown(one, ShutdownReason::RunStopped),
        Told::Shutdown(other, ShutdownReason::RunStopped),
    ]);
    // What runs may finish.
    stage.succeed(other, &[1]);
    assert_eq!(stage.counters().completed, 1);
    for (conn, worker) in [(one, 0), (other, 1)] {
        stage.goodbye(conn);
        stage.exit(worker, bellis_core::run::ExitKind::Clean);
    }
    stage.expect([Told::Finished]);
    assert_eq!(stage.run.outcome(), Some(&Outcome::FailureLimit));
    let counters = stage.counters();
    assert_eq!(
        (counters.failed, counters.completed, counters.ready),
        (1, 1, 3)
    );
}

#[test]
fn a_check_decides_what_workers_see() {
    let mut stage = Stage::new(Graph::row(5).with_check(), RunConfig::new(vec![workers(1)]));
    stage.begin();
    stage.expect([Told::Check(0, vec![0, 1, 2, 3, 4])]);
    assert_eq!(stage.counters().ready, 5);
    stage.answer(
        0,
        &[
            CheckAnswer::Done,
            CheckAnswer::NotDone,
            CheckAnswer::Done,
            CheckAnswer::Error(Box::new(error("cannot look"))),
        ],
    );
    let warning = Warning::CheckError {
        task: TaskIndex(0),
        error: Box::new(error("cannot look")),
    };
    stage.expect([Told::Warn(warning), Told::Start(0, 0)]);
    let counters = stage.counters();
    assert_eq!(
        (counters.skipped, counters.completed, counters.ready),
        (2, 2, 3)
    );
    assert_eq!(counters.check_errors, 2);
    let (conn, blocks) = stage.arrive(0);
    assert_eq!(blocks, [1]);
    stage.succeed(conn, &[1]);
    let Told::Grant(_, blocks) = stage.next() else {
        panic!("a grant is due")
    };
    assert_eq!(blocks[0], 3);
}

#[test]
fn a_check_that_finds_all_done_starts_nobody() {
    let graph = Graph::chain(2, 2).with_check();
    let mut stage = Stage::new(graph, RunConfig::new(vec![workers(1), workers(1)]));
    stage.begin();
    stage.expect([Told::Check(0, vec![0, 1])]);
    stage.answer(0, &[CheckAnswer::Done, CheckAnswer::Done]);
    stage.expect([Told::TaskFinished(0), Told::Check(1, vec![0, 1])]);
    stage.answer(1, &[CheckAnswer::Done, CheckAnswer::Done]);
    stage.expect([Told::TaskFinished(1), Told::Finished]);
    assert_eq!(stage.counters_of(1).worker_starts, 0);
}

#[test]
fn a_finished_stage_unlocks_the_next_and_starts_nobody_for_itself() {
    let graph = Graph::chain(2, 3)
        .with_done(0, &[0, 1, 2])
        .with_done(1, &[0, 2]);
    let mut stage = Stage::new(graph, RunConfig::new(vec![workers(4), workers(4)]));
    stage.begin();
    stage.expect([Told::TaskFinished(0), Told::Start(1, 0)]);
    assert_eq!(stage.counters_of(0).skipped, 3);
    assert_eq!(stage.counters_of(1).ready, 1);
    let conn = stage.connect_to(1, Some(0), true);
    stage.expect([Told::Welcome(conn, 0)]);
    stage.acquire(conn, 1);
    stage.expect([Told::Grant(conn, vec![1])]);
}

#[test]
fn a_run_with_everything_done_ends_at_once() {
    let graph = Graph::chain(2, 3)
        .with_done(0, &[0, 1, 2])
        .with_done(1, &[0, 1, 2]);
    let mut stage = Stage::new(graph, RunConfig::new(vec![workers(4), workers(4)]));
    stage.begin();
    stage.expect([Told::TaskFinished(0), Told::TaskFinished(1), Told::Finished]);
}

#[test]
fn a_task_without_blocks_ends_with_a_warning() {
    let mut stage = Stage::with(0, workers(1));
    stage.begin();
    let warning = Warning::EmptyTask { task: TaskIndex(0) };
    stage.expect([Told::Warn(warning), Told::TaskFinished(0), Told::Finished]);
}

#[test]
fn a_store_that_fails_ends_the_run_and_the_block_is_not_done() {
    let graph = Graph::row(2).with_broken_store();
    let mut stage = Stage::new(graph, RunConfig::new(vec![workers(1)]));
    stage.begin_with(1);
    stage.started(0, true);
    let (conn, _) = stage.arrive(0);
    stage.succeed(conn, &[0]);
    assert_eq!(
        stage.next(),
        Told::Shutdown(conn, ShutdownReason::RunStopped)
    );
    stage.expect([
        Told::Close(conn, bellis_core::run::CloseReason::DidNotLeave),
        Told::Kill(0, bellis_core::run::KillReason::Interrupted),
    ]);
    stage.exit(0, bellis_core::run::ExitKind::Stopped);
    stage.expect([Told::Finished]);
    let outcome = stage.run.outcome().unwrap();
    assert!(
        matches!(outcome, Outcome::Failed(RunError::Record { .. })),
        "{outcome:?}"
    );
    assert_eq!(stage.counters().completed, 0);
}

#[test]
fn measurements_are_demanded_where_they_were_asked_for() {
    let mut stage = Stage::with(
        2,
        TaskConfig {
            resource_tracking: true,
            ..workers(1)
        },
    );
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::Shutdown(conn, ShutdownReason::RunStopped),
        Told::Close(conn, bellis_core::run::CloseReason::DidNotLeave),
        Told::Kill(0, bellis_core::run::KillReason::Interrupted),
    ]);
    assert_eq!(stage.counters().completed, 0);
}

#[test]
fn depth_first_holds_a_task_back_while_the_next_has_enough() {
    let mut config = RunConfig::new(vec![workers(1), workers(1)]);
    config.order = Order::DepthFirst;
    let mut stage = Stage::new(Graph::chain(2, 9), config);
    stage.begin_with(1);
    let (first, blocks) = stage.arrive(0);
    assert_eq!(blocks, [0]);
    stage.now = Nanos::from_millis(100);
    let slow = |stage: &mut Stage, block| {
        let mut result = stage.result(block, bellis_core::run::BlockStatus::Success);
        result.started = Nanos::ZERO;
        stage.tell(bellis_core::run::Event::Released {
            conn: first,
            results: &[result],
        });
    };
    slow(&mut stage, 0);
    stage.expect([Told::Grant(first, vec![1]), Told::Start(1, 1)]);
    let second = stage.connect_to(1, Some(1), true);
    stage.expect([Told::Welcome(second, 1)]);
    slow(&mut stage, 1);
    stage.expect([Told::Grant(first, vec![2])]);
    slow(&mut stage, 2);
    // Three blocks wait for one worker of the second task: the first task waits too.
    stage.expect_nothing();
    stage.acquire(second, 1);
    let Told::Grant(to, _) = stage.next() else {
        panic!("a grant is due")
    };
    assert_eq!(to, second);
    stage.expect([Told::Grant(first, vec![3])]);
}
