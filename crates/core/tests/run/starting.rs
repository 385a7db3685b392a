//! Who is started, when, and what becomes of those who come from elsewhere.

use bellis_core::run::{
    AbandonReason, CloseReason, ExitKind, FailureKind, KillReason, Nanos, Outcome, RunConfig,
    RunError, ShutdownReason, TaskConfig, Warning, WorkerEnd, WorkerId,
};
use bellis_core::TaskIndex;

use crate::graphs::Graph;
use crate::stage::{error, workers, Stage, Told};

fn paced(max_workers: u32) -> TaskConfig {
    TaskConfig {
        max_workers,
        ..TaskConfig::default()
    }
}

/// Lets time pass until the run says something, up to a minute.
fn wait_for_a_word(stage: &mut Stage) {
    stage.wait(Nanos::from_secs(60));
}

#[test]
fn no_more_workers_than_blocks() {
    let mut stage = Stage::with(3, workers(128));
    stage.begin_with(3);
}

#[test]
fn local_starts_are_paced_to_the_processors() {
    let mut config = RunConfig::new(vec![paced(16)]);
    config.cores = 2;
    let mut stage = Stage::new(Graph::row(1000), config);
    stage.begin_with(2);
    stage.now = Nanos::from_millis(100);
    stage.comes_for(0, &[0]);
    // The first block takes long, so that the work left outlasts a start.
    stage.wait(Nanos::from_millis(60));
    stage.expect([Told::Start(0, 2)]);
}

#[test]
fn nobody_is_started_for_work_that_is_nearly_done() {
    let mut config = RunConfig::new(vec![paced(16)]);
    config.cores = 1;
    let mut stage = Stage::new(Graph::row(200), config);
    stage.begin_with(1);
    stage.now = Nanos::from_millis(100);
    let conn = stage.comes_for(0, &[0]);
    // 10 µs a block: 200 of them are done before anybody else is there.
    let mut result = stage.result(0, bellis_core::run::BlockStatus::Success);
    stage.now = stage.now + Nanos::from_micros(10);
    (result.started, result.ended) = (stage.now - Nanos::from_micros(10), stage.now);
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[result],
    });
    let Told::Grant(_, blocks) = stage.next() else {
        panic!("a grant is due")
    };
    assert_eq!(blocks.len(), 199);
    stage.expect_nothing();
    assert_eq!(stage.counters().worker_starts, 1);
}

#[test]
fn somebody_is_started_for_blocks_that_wait_behind_a_slow_one() {
    let mut config = RunConfig::new(vec![paced(16)]);
    config.cores = 1;
    let mut stage = Stage::new(Graph::row(200), config);
    stage.begin_with(1);
    stage.now = Nanos::from_millis(100);
    let conn = stage.comes_for(0, &[0]);
    let mut result = stage.result(0, bellis_core::run::BlockStatus::Success);
    stage.now = stage.now + Nanos::from_micros(10);
    result.ended = stage.now;
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[result],
    });
    let Told::Grant(_, blocks) = stage.next() else {
        panic!("a grant is due")
    };
    assert_eq!(blocks.len(), 199);
    // The mean says that they are done at once; the first of them says otherwise.
    stage.wait(Nanos::from_millis(60));
    stage.expect([Told::Start(0, 1)]);
}

#[test]
fn starters_are_killed_when_the_work_is_over() {
    let mut stage = Stage::with(2, workers(2));
    stage.begin_with(2);
    let (conn, _) = stage.arrive(0);
    stage.succeed(conn, &[0]);
    stage.expect([Told::Grant(conn, vec![1])]);
    stage.succeed(conn, &[1]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
        Told::Kill(1, KillReason::NotNeeded),
    ]);
    stage.goodbye(conn);
    stage.started(0, false);
    // Nobody waits for the one that never came.
    stage.expect([Told::Finished]);
    let report = stage.run.report(TaskIndex(0)).unwrap();
    assert_eq!(report.workers[1].exit, WorkerEnd::Stopped);
    // Its launcher is told again when it has something to stop.
    stage.started(1, true);
    stage.expect([Told::Kill(1, KillReason::NotNeeded)]);
    let late = stage.connect(Some(1));
    stage.expect([Told::Shutdown(late, ShutdownReason::RunFinished)]);
}

#[test]
fn failing_starts_back_off_and_end_with_the_first_error() {
    let mut stage = Stage::with(
        10,
        TaskConfig {
            max_worker_restarts: 3,
            ..workers(4)
        },
    );
    stage.begin_with(4);
    for worker in 0..4 {
        stage.start_fails(worker);
        assert_eq!(stage.failure().worker, WorkerId(worker));
    }
    stage.expect_nothing();
    let mut pauses = Vec::new();
    for worker in 4..7 {
        let before = stage.now;
        wait_for_a_word(&mut stage);
        assert_eq!(stage.next(), Told::Start(0, worker));
        if worker == 5 {
            let warning = Warning::HalfBudget {
                task: TaskIndex(0),
                restarts: 2,
                max_restarts: 3,
                keeps_workers: false,
                last_error: Some(Box::new(error("no such program"))),
            };
            assert_eq!(stage.next(), Told::Warn(warning));
        }
        pauses.push(stage.now - before);
        stage.start_fails(worker);
        assert_eq!(stage.failure().worker, WorkerId(worker));
    }
    assert!(pauses[0] > Nanos::from_millis(100), "{pauses:?}");
    assert!(
        pauses.iter().all(|pause| *pause < Nanos::from_secs(2)),
        "{pauses:?}"
    );
    stage.expect([Told::TaskFinished(0), Told::Finished]);
    assert_eq!(stage.run.outcome(), Some(&Outcome::Finished));
    let counters = stage.counters();
    assert_eq!(counters.abandoned, Some(AbandonReason::RestartsUsedUp));
    assert_eq!((counters.orphaned, counters.worker_starts), (10, 7));
    assert_eq!(counters.worker_failures, 7);
    let report = stage.run.report(TaskIndex(0)).unwrap();
    assert_eq!(report.first_error.unwrap().message, "no such program");
}

#[test]
fn workers_that_leave_cleanly_without_coming_are_no_failures_but_use_up_the_budget() {
    let mut stage = Stage::with(
        8,
        TaskConfig {
            max_worker_restarts: 3,
            ..workers(2)
        },
    );
    stage.begin_with(2);
    stage.started(0, true);
    stage.exit(0, ExitKind::Clean);
    let warning = Warning::EndedWithoutAsking {
        task: TaskIndex(0),
        worker: WorkerId(0),
    };
    stage.expect([Told::Warn(warning)]);
    stage.exit(1, ExitKind::Clean);
    for worker in 2..5 {
        wait_for_a_word(&mut stage);
        assert_eq!(stage.next(), Told::Start(0, worker));
        if let Some(Told::Warn(Warning::HalfBudget { .. })) = stage.peek() {
            stage.next();
        }
        stage.expect_nothing();
        stage.exit(worker, ExitKind::Clean);
    }
    stage.expect([Told::TaskFinished(0), Told::Finished]);
    let counters = stage.counters();
    assert_eq!((counters.worker_starts, counters.worker_failures), (5, 0));
    assert!(counters.abandoned.is_some());
}

#[test]
fn a_task_that_waits_for_another_is_not_given_up_for_want_of_workers() {
    let tasks = vec![
        workers(1),
        TaskConfig {
            max_worker_restarts: 0,
            ..workers(1)
        },
    ];
    let mut stage = Stage::new(Graph::chain(2, 1), RunConfig::new(tasks));
    stage.begin_with(1);
    stage.wait(Nanos::from_secs(30));
    stage.expect_nothing();
    let (conn, _) = stage.arrive(0);
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
        Told::Start(1, 1),
    ]);
}

#[test]
fn what_builds_on_an_abandoned_task_is_abandoned_too() {
    let tasks = vec![
        TaskConfig {
            max_worker_restarts: 0,
            ..workers(1)
        },
        workers(1),
        workers(1),
    ];
    let mut stage = Stage::new(Graph::chain(3, 4), RunConfig::new(tasks));
    stage.begin_with(1);
    stage.start_fails(0);
    stage.failure();
    stage.expect([
        Told::TaskFinished(0),
        Told::TaskFinished(1),
        Told::TaskFinished(2),
        Told::Finished,
    ]);
    let reason = |task| stage.counters_of(task).abandoned;
    assert_eq!(reason(0), Some(AbandonReason::RestartsUsedUp));
    assert_eq!(
        reason(1),
        Some(AbandonReason::UpstreamAbandoned { task: TaskIndex(0) })
    );
    assert_eq!(
        reason(2),
        Some(AbandonReason::UpstreamAbandoned { task: TaskIndex(1) })
    );
    assert_eq!(stage.counters_of(2).orphaned, 4);
}

#[test]
fn a_queued_worker_is_not_a_dead_one() {
    let mut stage = Stage::with(2, workers(1));
    stage.begin_with(1);
    stage.started(0, false);
    stage.wait(Nanos::from_secs(3600));
    stage.expect_nothing();
    let (conn, blocks) = stage.arrive(0);
    assert_eq!(blocks, [0]);
    // Fire and forget: it is replaced when its connection ends.
    stage.cut(conn);
    assert_eq!(stage.next(), Told::Kill(0, KillReason::Lost));
    stage.failure();
    stage.expect([Told::Start(0, 1)]);
}

#[test]
fn a_start_that_never_connects_is_given_up_where_its_exit_is_not_reported() {
    let limit = Some(Nanos::from_secs(30));
    let mut stage = Stage::with(
        2,
        TaskConfig {
            connect_timeout: limit,
            ..workers(1)
        },
    );
    stage.begin_with(1);
    stage.started(0, false);
    wait_for_a_word(&mut stage);
    assert_eq!(stage.now, Nanos::from_secs(30));
    assert_eq!(stage.next(), Told::Kill(0, KillReason::NeverConnected));
    assert_eq!(stage.failure().error.name, "ConnectTimeout");
    wait_for_a_word(&mut stage);
    stage.expect([Told::Start(0, 1)]);
    // Late, but welcome: another worker by now.
    let late = stage.connect(Some(0));
    stage.expect([Told::Welcome(late, 2)]);
    stage.acquire(late, 1);
    stage.expect([Told::Grant(late, vec![0])]);
}

#[test]
fn an_import_or_a_setup_that_does_not_end_is_given_up() {
    for (timeout, bound) in [(1, 600), (900, 900)] {
        let timeout = Nanos::from_secs(timeout);
        let mut stage = Stage::with(
            2,
            TaskConfig {
                timeout,
                ..workers(1)
            },
        );
        stage.begin();
        stage.expect([Told::Start(0, 0)]);
        stage.started(0, true);
        let conn = stage.connect(Some(0));
        stage.expect([Told::Welcome(conn, 0)]);
        // Its client lives.
        while stage.peek().is_none() {
            stage.heartbeat(conn, &[]);
            stage.wait(Nanos::from_secs(1));
        }
        assert_eq!(stage.now, Nanos::from_secs(bound));
        stage.expect([
            Told::Close(conn, CloseReason::NoAnswer),
            Told::Kill(0, KillReason::Lost),
        ]);
        stage.exit(0, ExitKind::Stopped);
        let failure = stage.failure();
        assert_eq!(failure.error.name, "SetupTimeout");
        assert_eq!(failure.kind, FailureKind::Start);
        assert_eq!(stage.counters().worker_failures, 1);
        wait_for_a_word(&mut stage);
        stage.expect([Told::Start(0, 1)]);
    }
}

#[test]
fn each_clone_of_a_context_is_a_worker_of_its_own() {
    let mut stage = Stage::with(20, workers(1));
    stage.begin_with(1);
    stage.started(0, true);
    let clones: Vec<_> = (0..8)
        .map(|number| {
            let conn = stage.connect(Some(0));
            stage.expect([Told::Welcome(conn, number)]);
            stage.acquire(conn, 1);
            stage.expect([Told::Grant(conn, vec![u64::from(number)])]);
            conn
        })
        .collect();
    assert_eq!(stage.counters().worker_starts, 1);
    // One of them dies: the launch isn't killed for it, and no start is used up.
    stage.cut(clones[3]);
    assert_eq!(stage.failure().block.map(|block| block.0), Some(3));
    stage.cut(clones[0]);
    assert_eq!(stage.failure().block.map(|block| block.0), Some(0));
    assert_eq!(stage.counters().connected_workers, 6);
}

#[test]
fn a_worker_from_outside_is_welcome() {
    let mut stage = Stage::with(2, workers(1));
    stage.begin_with(1);
    let outsider = stage.connect(None);
    stage.expect([Told::Welcome(outsider, 1)]);
    stage.acquire(outsider, 1);
    stage.expect([Told::Grant(outsider, vec![0])]);
    let stranger = stage.connect(Some(4711));
    stage.expect([Told::Welcome(stranger, 2)]);
    let lost = stage.connect_to(9, None, true);
    stage.expect([Told::Shutdown(lost, ShutdownReason::UnknownTask)]);
}

#[test]
fn workers_share_resources_round_robin() {
    let needs = |max_workers| TaskConfig {
        requires: vec![("gpu".into(), 1)],
        ..workers(max_workers)
    };
    let mut config = RunConfig::new(vec![needs(4), needs(4), workers(1)]);
    config.resources = vec![("gpu".into(), 3)];
    let mut stage = Stage::new(Graph::apart(3, 8), config);
    stage.begin();
    stage.expect([
        Told::Start(0, 0),
        Told::Start(1, 1),
        Told::Start(2, 2),
        Told::Start(0, 3),
    ]);
    assert!(stage.counters_of(1).waits_for_resources);
    stage.exit(0, ExitKind::Code(1));
    stage.failure();
    stage.expect([Told::Start(1, 4)]);
}

#[test]
fn higher_priority_starts_first_and_gets_room() {
    let needs = |priority| TaskConfig {
        requires: vec![("gpu".into(), 1)],
        priority,
        ..workers(1)
    };
    let mut config = RunConfig::new(vec![needs(0), needs(1)]);
    config.resources = vec![("gpu".into(), 1)];
    let mut stage = Stage::new(Graph::apart(2, 2), config.clone());
    stage.begin();
    stage.expect([Told::Start(1, 0)]);
    drop(stage);
    // The same with the important task after the other one: it gets room as soon as it can run.
    let mut stage = Stage::new(Graph::chain(2, 2), config);
    stage.begin_with(1);
    stage.started(0, true);
    let (conn, _) = stage.arrive(0);
    stage.now = Nanos::from_secs(1);
    stage.succeed(conn, &[0]);
    stage.expect([
        Told::Grant(conn, vec![1]),
        Told::Shutdown(conn, ShutdownReason::ResourcesNeeded),
    ]);
    stage.give_back(conn, &[1]);
    stage.goodbye(conn);
    stage.exit(0, ExitKind::Clean);
    stage.expect([Told::Start(1, 1)]);
}

#[test]
fn a_task_that_can_never_start_is_refused() {
    let task = TaskConfig {
        requires: vec![("gpu".into(), 4)],
        ..workers(1)
    };
    let refused = bellis_core::run::Run::new(Graph::row(1).scheduler(), RunConfig::new(vec![task]));
    assert!(matches!(
        refused,
        Err(RunError::Resources { available: 0, .. })
    ));
    let refused = bellis_core::run::Run::new(Graph::row(1).scheduler(), RunConfig::new(vec![]));
    assert!(matches!(
        refused,
        Err(RunError::TaskCount { given: 0, tasks: 1 })
    ));
}

#[test]
fn one_bad_block_costs_three_workers_and_a_restart() {
    // Daisy's example: one worker, three restarts, eight blocks that always fail, no retries.
    let task = TaskConfig {
        max_worker_restarts: 3,
        ..workers(1)
    };
    let graph = Graph::row(8).without_retries();
    let mut stage = Stage::new(graph, RunConfig::new(vec![task]));
    stage.begin_with(1);
    for worker in 0..4 {
        let (conn, blocks) = stage.arrive(worker);
        stage.throw(conn, blocks[0]);
        assert!(stage.failure().permanent);
        stage.expect([Told::Shutdown(conn, ShutdownReason::BlockFailed)]);
        stage.goodbye(conn);
        stage.exit(worker, ExitKind::Code(1));
        if worker < 3 {
            assert_eq!(stage.next(), Told::Start(0, worker + 1));
            if let Some(Told::Warn(Warning::HalfBudget { .. })) = stage.peek() {
                stage.next();
            }
        }
    }
    stage.expect([Told::TaskFinished(0), Told::Finished]);
    let counters = stage.counters();
    assert_eq!((counters.failed, counters.orphaned), (4, 4));
    assert_eq!((counters.worker_failures, counters.worker_restarts), (4, 3));
}
