//! Interrupts, the end of the work, and the end of a worker's day.

use bellis_core::run::{
    CloseReason, Event, ExitKind, KillReason, Nanos, Outcome, RunConfig, RunError, ShutdownReason,
    TaskConfig, Warning, WorkerEnd, WorkerId,
};
use bellis_core::TaskIndex;

use crate::graphs::Graph;
use crate::stage::{error, workers, Stage, Told};

#[test]
fn an_interrupt_lets_running_blocks_finish_and_costs_no_try() {
    let mut stage = Stage::with(20, workers(2));
    stage.begin_with(2);
    let (one, _) = stage.arrive(0);
    let (other, _) = stage.arrive(1);
    stage.tell(Event::Interrupt);
    stage.expect([
        Told::Shutdown(one, ShutdownReason::Interrupted),
        Told::Shutdown(other, ShutdownReason::Interrupted),
    ]);
    // The group's signal made one fail; the other gets through.
    stage.throw(one, 0);
    stage.succeed(other, &[1]);
    stage.expect_nothing();
    let counters = stage.counters();
    assert_eq!(
        (counters.failed_attempts, counters.completed, counters.ready),
        (0, 1, 19)
    );
    for (conn, worker) in [(one, 0), (other, 1)] {
        stage.goodbye(conn);
        stage.exit(worker, ExitKind::Signal(2));
    }
    stage.expect([Told::Finished]);
    assert_eq!(stage.run.outcome(), Some(&Outcome::Interrupted));
    assert_eq!(stage.counters().worker_failures, 0);
}

#[test]
fn the_grace_of_an_interrupt_ends() {
    let (mut stage, conn) = Stage::at_work(3, workers(1));
    stage.tell(Event::Interrupt);
    stage.expect([Told::Shutdown(conn, ShutdownReason::Interrupted)]);
    // Twice within a second is once.
    stage.now = stage.now + Nanos::from_millis(5);
    stage.tell(Event::Interrupt);
    stage.expect_nothing();
    for _ in 0..4 {
        stage.wait(Nanos::from_secs(1));
        stage.heartbeat(conn, &[(0, Nanos::from_secs(1))]);
    }
    stage.wait(Nanos::from_secs(1));
    stage.expect([
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::Interrupted),
    ]);
    stage.exit(0, ExitKind::Stopped);
    stage.expect([Told::Finished]);
    let counters = stage.counters();
    assert_eq!((counters.failed_attempts, counters.ready), (0, 3));
    let report = stage.run.report(TaskIndex(0)).unwrap();
    assert_eq!(report.workers[0].exit, WorkerEnd::Stopped);
}

#[test]
fn nobody_waits_for_the_end_of_a_submitted_worker_that_nobody_will_see() {
    let mut stage = Stage::with(3, workers(1));
    stage.begin_with(1);
    stage.started(0, false);
    let (conn, _) = stage.arrive(0);
    stage.tell(Event::Interrupt);
    stage.expect([Told::Shutdown(conn, ShutdownReason::Interrupted)]);
    // Its block has the grace all the same.
    stage.now = stage.now + Nanos::from_millis(1_100);
    stage.tell(Event::Interrupt);
    stage.expect([
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::Interrupted),
        Told::Finished,
    ]);
}

#[test]
fn a_second_interrupt_after_a_second_ends_the_grace() {
    let (mut stage, conn) = Stage::at_work(3, workers(1));
    stage.tell(Event::Interrupt);
    stage.expect([Told::Shutdown(conn, ShutdownReason::Interrupted)]);
    stage.now = stage.now + Nanos::from_millis(1_100);
    stage.tell(Event::Interrupt);
    stage.expect([
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::Interrupted),
    ]);
    stage.exit(0, ExitKind::Stopped);
    stage.expect([Told::Finished]);
}

#[test]
fn an_interrupt_before_anybody_connected_ends_at_once() {
    let mut stage = Stage::with(3, workers(2));
    stage.begin_with(2);
    stage.tell(Event::Interrupt);
    stage.expect([
        Told::Kill(0, KillReason::NotNeeded),
        Told::Kill(1, KillReason::NotNeeded),
        Told::Finished,
    ]);
}

#[test]
fn an_interrupt_during_checks_puts_the_blocks_back() {
    let mut stage = Stage::new(Graph::row(5).with_check(), RunConfig::new(vec![workers(2)]));
    stage.begin();
    assert!(matches!(stage.next(), Told::Check(0, _)));
    stage.tell(Event::Interrupt);
    stage.expect([Told::Finished]);
    assert_eq!(stage.counters().ready, 5);
    stage.answer(0, &[]);
}

#[test]
fn a_module_that_does_not_load_ends_the_run_with_its_error() {
    let mut stage = Stage::with(3, workers(1));
    stage.begin_with(1);
    stage.started(0, true);
    let conn = stage.connect(Some(0));
    stage.expect([Told::Welcome(conn, 0)]);
    stage.tell(Event::Unusable {
        conn,
        fatal: true,
        error: &error("no export 'segment'"),
    });
    stage.expect([
        Told::Shutdown(conn, ShutdownReason::RunStopped),
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::Interrupted),
    ]);
    stage.exit(0, ExitKind::Code(1));
    stage.expect([Told::Finished]);
    let Some(Outcome::Failed(RunError::Unusable { error, .. })) = stage.run.outcome() else {
        panic!("the run fails with the module's error");
    };
    assert_eq!(error.message, "no export 'segment'");
}

#[test]
fn a_setup_that_throws_is_a_failing_start() {
    let mut stage = Stage::with(
        3,
        TaskConfig {
            max_worker_restarts: 0,
            ..workers(1)
        },
    );
    stage.begin_with(1);
    stage.started(0, true);
    let conn = stage.connect(Some(0));
    stage.expect([Told::Welcome(conn, 0)]);
    stage.tell(Event::Unusable {
        conn,
        fatal: false,
        error: &error("no model"),
    });
    stage.expect([Told::Shutdown(conn, ShutdownReason::BlockFailed)]);
    stage.goodbye(conn);
    stage.exit(0, ExitKind::Code(1));
    assert_eq!(stage.failure().error.message, "no model");
    stage.expect([Told::TaskFinished(0), Told::Finished]);
    assert_eq!(stage.counters().orphaned, 3);
}

#[test]
fn a_worker_that_does_not_leave_is_killed() {
    let (mut stage, conn) = Stage::at_work(
        1,
        TaskConfig {
            timeout: Nanos::from_secs(3),
            ..workers(1)
        },
    );
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    let mut beats = 0;
    while stage.peek().is_none() {
        stage.heartbeat(conn, &[]);
        beats += 1;
        assert!(beats < 60, "the run waits for ever");
        stage.wait(Nanos::from_secs(1));
    }
    assert!(
        beats >= 8,
        "a teardown may take a while, not only {beats} s"
    );
    stage.expect([
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::DidNotLeave),
    ]);
    stage.exit(0, ExitKind::Stopped);
    stage.expect([Told::Finished]);
}

#[test]
fn an_interrupt_ends_the_patience_with_those_who_are_leaving() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    stage.tell(Event::Interrupt);
    stage.expect_nothing();
    stage.wait(Nanos::from_secs(5));
    stage.expect([
        Told::Close(conn, CloseReason::DidNotLeave),
        Told::Kill(0, KillReason::Interrupted),
    ]);
    stage.exit(0, ExitKind::Stopped);
    stage.expect([Told::Finished]);
    assert_eq!(stage.run.outcome(), Some(&Outcome::Finished));
}

#[test]
fn a_process_that_outlives_its_goodbye_is_killed_in_the_end() {
    let (mut stage, conn) = Stage::at_work(
        1,
        TaskConfig {
            timeout: Nanos::from_secs(3),
            ..workers(1)
        },
    );
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    stage.goodbye(conn);
    stage.expect_nothing();
    stage.wait(Nanos::from_secs(60));
    stage.expect([Told::Kill(0, KillReason::DidNotLeave)]);
    stage.exit(0, ExitKind::Stopped);
    stage.expect([Told::Finished]);
}

#[test]
fn idle_workers_go_home_while_others_finish() {
    let mut stage = Stage::with(2, workers(2));
    stage.begin_with(2);
    let (one, _) = stage.arrive(0);
    let (other, _) = stage.arrive(1);
    stage.now = Nanos::from_secs(1);
    stage.succeed(one, &[0]);
    stage.expect([Told::Shutdown(one, ShutdownReason::Idle)]);
    stage.goodbye(one);
    stage.exit(0, ExitKind::Clean);
    stage.expect_nothing();
    // A retry gets a fresh worker.
    stage.throw(other, 1);
    stage.failure();
    stage.expect([
        Told::Shutdown(other, ShutdownReason::BlockFailed),
        Told::Start(0, 2),
    ]);
}

#[test]
fn the_time_line_of_a_worker() {
    let ms = Nanos::from_millis;
    let mut stage = Stage::with(3, workers(1));
    stage.begin_with(1);
    stage.started(0, true);
    stage.now = ms(250);
    let conn = stage.connect(Some(0));
    stage.expect([Told::Welcome(conn, 0)]);
    stage.now = ms(263);
    stage.acquire(conn, 1);
    stage.expect([Told::Grant(conn, vec![0])]);
    // The worker's clock is an hour ahead, and messages take no time.
    let ahead = Nanos::from_secs(3600);
    let beat = |stage: &mut Stage| {
        let (sent, round_trip) = (stage.now + ahead, Some(Nanos::ZERO));
        stage.tell(Event::Heartbeat {
            conn,
            sent,
            round_trip,
            running: &[],
        });
    };
    beat(&mut stage);
    for (block, began, ended) in [(0, 264, 280), (1, 281, 291), (2, 295, 305)] {
        stage.now = ms(ended + 1);
        let mut result = stage.result(block, bellis_core::run::BlockStatus::Success);
        (result.started, result.ended) = (ms(began) + ahead, ms(ended) + ahead);
        // The next grant must not be later than the next beginning.
        stage.now = ms(ended);
        stage.tell(Event::Released {
            conn,
            results: &[result],
        });
        while stage.peek().is_some() {
            stage.next();
        }
    }
    stage.now = ms(330);
    stage.goodbye(conn);
    stage.exit(0, ExitKind::Clean);
    stage.expect([Told::Finished]);
    let report = stage.run.report(TaskIndex(0)).unwrap();
    let worker = &report.workers[0];
    assert_eq!(
        worker.first_acquire_at.unwrap() - worker.started_at,
        ms(263)
    );
    assert_eq!(worker.blocks, 3);
    let milliseconds = |seconds: f64| (seconds * 1e6).round() / 1e3;
    assert_eq!(milliseconds(worker.compute.sum()), 36.0);
    assert_eq!(milliseconds(worker.idle.sum()), 1.0 + 1.0 + 4.0);
    assert_eq!(milliseconds(report.round_trip.mean()), 12.0);
    assert_eq!(worker.teardown, Some(ms(25)));
    assert_eq!(worker.exit, WorkerEnd::Clean);
    assert_eq!(report.ended, Some(ms(330)));
}

#[test]
fn a_worker_that_said_goodbye_is_ending_until_its_exit() {
    let mut stage = Stage::with(1, workers(1));
    stage.begin();
    stage.expect([Told::Start(0, 0)]);
    stage.started(0, true);
    let (conn, _) = stage.arrive(0);
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
    assert_eq!(stage.counters().ending_workers, 0);
    stage.goodbye(conn);
    assert_eq!(stage.counters().ending_workers, 1);
    stage.exit(0, ExitKind::Clean);
    stage.expect([Told::Finished]);
    assert_eq!(stage.counters().ending_workers, 0);
}

#[test]
fn a_worker_that_exits_cleanly_before_it_asked_for_a_block_is_told_of() {
    let mut stage = Stage::with(1, workers(1));
    stage.begin();
    stage.expect([Told::Start(0, 0)]);
    stage.started(0, true);
    let conn = stage.connect(Some(0));
    stage.expect([Told::Welcome(conn, 0)]);
    stage.goodbye(conn);
    stage.exit(0, ExitKind::Clean);
    assert_eq!(
        stage.next(),
        Told::Warn(Warning::EndedWithoutAsking {
            task: TaskIndex(0),
            worker: WorkerId(0),
        })
    );
}
