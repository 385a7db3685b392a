//! Workers that die, fall silent, come back, or run too long.

use bellis_core::run::{
    BlockStatus, CloseReason, ExitKind, FailureKind, KillReason, Nanos, OnBlockError,
    ShutdownReason, TaskConfig, WorkerEnd,
};
use bellis_core::TaskIndex;

use crate::stage::{workers, Stage, Told};

const SECOND: Nanos = Nanos::from_secs(1);

/// One worker with several blocks in its hands, of which it runs the first.
fn with_full_hands() -> (Stage, bellis_core::run::ConnectionId, Vec<u64>) {
    let (mut stage, conn) = Stage::at_work(12, workers(1));
    let mut result = stage.result(0, bellis_core::run::BlockStatus::Success);
    stage.now = Nanos::from_millis(1);
    (result.started, result.ended) = (stage.now - Nanos::from_micros(300), stage.now);
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[result],
    });
    let hand = stage.granted(conn);
    assert!(hand.len() > 4, "{hand:?}");
    (stage, conn, hand)
}

#[test]
fn a_local_worker_is_killed_before_its_block_goes_on() {
    let (mut stage, conn) = Stage::at_work(3, workers(2));
    let (other, _) = stage.arrive(1);
    stage.cut(conn);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.succeed(other, &[1]);
    stage.expect([Told::Grant(other, vec![2])]);
    stage.succeed(other, &[2]);
    // Block 0 is still in the hands of a process that may live.
    stage.expect_nothing();
    stage.exit(0, ExitKind::Signal(9));
    let failure = stage.failure();
    assert_eq!(
        (failure.block.map(|block| block.0), failure.kind),
        (Some(0), FailureKind::Exited)
    );
    // It may have been the block's doing.
    stage.expect([Told::GrantAlone(other, vec![0])]);
    assert_eq!(stage.counters().failed_attempts, 1);
    assert_eq!(stage.counters().worker_failures, 1);
}

#[test]
fn a_kill_that_nobody_confirms_is_believed_in_the_end() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    stage.cut(conn);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.wait(SECOND.times(4));
    stage.expect_nothing();
    stage.wait(SECOND.times(2));
    let failure = stage.failure();
    assert_eq!(failure.kind, FailureKind::Lost);
    stage.expect([Told::Start(0, 1)]);
}

#[test]
fn only_the_running_block_loses_a_try() {
    let (mut stage, conn, mut hand) = with_full_hands();
    let running = hand.remove(0);
    // Long enough that nothing else can have ended meanwhile.
    stage.now = stage.now + Nanos::from_millis(21);
    stage.cut(conn);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Signal(6));
    assert_eq!(stage.failure().block.map(|block| block.0), Some(running));
    stage.expect([Told::Start(0, 1)]);
    let counters = stage.counters();
    assert_eq!((counters.failed_attempts, counters.ready), (1, 11));
    // The others lead the queue, in their order.
    let (_, granted) = stage.arrive(1);
    assert!(granted.starts_with(&hand), "{granted:?} after {hand:?}");
}

#[test]
fn a_worker_in_the_middle_of_short_blocks_has_its_blocks_tried_alone() {
    let (mut stage, conn, hand) = with_full_hands();
    stage.cut(conn);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Signal(6));
    let failure = stage.failure();
    assert_eq!((failure.block, failure.attempt), (None, 0));
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().failed_attempts, 0);
    stage.started(1, true);
    let conn = stage.connect(Some(1));
    stage.expect([Told::Welcome(conn, 1)]);
    stage.acquire(conn, 1);
    stage.expect([Told::GrantAlone(conn, vec![hand[0]])]);
    stage.succeed(conn, &hand[..1]);
    stage.expect([Told::GrantAlone(conn, vec![hand[1]])]);
    // Alone with its worker it is the one to blame.
    stage.cut(conn);
    stage.expect([Told::Kill(1, KillReason::Lost)]);
    stage.exit(1, ExitKind::Signal(6));
    assert_eq!(stage.failure().block.map(|block| block.0), Some(hand[1]));
    stage.expect([Told::Start(0, 2)]);
}

#[test]
fn a_worker_that_falls_silent_with_many_blocks_in_hand_has_them_tried_alone() {
    let (mut stage, conn, _) = with_full_hands();
    stage.wait(SECOND.times(6));
    stage.expect([
        Told::Close(conn, CloseReason::Silent),
        Told::Kill(0, KillReason::Lost),
    ]);
    stage.exit(0, ExitKind::Signal(9));
    assert_eq!(stage.failure().block, None);
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().failed_attempts, 0);
}

#[test]
fn what_a_silent_worker_wrote_down_says_which_block_ran_and_which_are_done() {
    let (mut stage, conn, hand) = with_full_hands();
    stage.wait(SECOND.times(6));
    stage.expect([
        Told::Close(conn, CloseReason::Silent),
        Told::Kill(0, KillReason::Lost),
    ]);
    let before = stage.counters().completed;
    // It is read more than once; only the last one can be sure.
    stage.last_words(conn, &hand[..1], &[hand[1]]);
    stage.last_words(conn, &hand[1..2], &[hand[2]]);
    assert_eq!(stage.counters().completed, before + 2);
    stage.expect_nothing();
    stage.exit(0, ExitKind::Signal(9));
    let failure = stage.failure();
    assert_eq!(failure.block.map(|block| block.0), Some(hand[2]));
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().failed_attempts, 1);
    // The worker is forgotten: nobody says anything about it any more.
    stage.last_words(conn, &hand[3..4], &[hand[4]]);
    assert_eq!(stage.counters().completed, before + 2);
}

#[test]
fn a_block_that_ran_too_long_stays_late_whatever_its_worker_wrote_down() {
    let (mut stage, conn) = Stage::at_work(2, workers(1));
    let late = stage.result(0, BlockStatus::TimedOut);
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[late],
    });
    stage.expect([
        Told::Close(conn, CloseReason::TimedOut),
        Told::Kill(0, KillReason::TimedOut),
    ]);
    stage.last_words(conn, &[0], &[]);
    stage.exit(0, ExitKind::Signal(9));
    assert_eq!(stage.failure().kind, FailureKind::TimedOut);
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().completed, 0);
}

#[test]
fn last_words_say_which_block_ran() {
    let (mut stage, conn, hand) = with_full_hands();
    stage.cut_while(conn, &[hand[1], 4040]);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Code(3));
    assert_eq!(stage.failure().block.map(|block| block.0), Some(hand[1]));
    stage.expect([Told::Start(0, 1)]);
}

#[test]
fn a_worker_that_ends_between_blocks_costs_no_try() {
    let (mut stage, conn) = Stage::at_work(4, workers(1));
    stage.cut_while(conn, &[]);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Code(7));
    let failure = stage.failure();
    assert_eq!((failure.block, failure.attempt), (None, 0));
    stage.expect([Told::Start(0, 1)]);
    let counters = stage.counters();
    assert_eq!((counters.failed_attempts, counters.worker_failures), (0, 1));
}

#[test]
fn silence_for_five_seconds_is_death() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    stage.wait(SECOND.times(3));
    stage.heartbeat(conn, &[(0, SECOND)]);
    stage.wait(Nanos::from_millis(4_900));
    stage.expect_nothing();
    stage.wait(SECOND);
    stage.expect([
        Told::Close(conn, CloseReason::Silent),
        Told::Kill(0, KillReason::Lost),
    ]);
    stage.exit(0, ExitKind::Signal(9));
    let words = "it said nothing for 5 s, then Signal(9)";
    let message = stage.failure().error.message;
    assert!(message.ends_with(words), "{message}");
    stage.expect([Told::Start(0, 1)]);
    let report = stage.run.report(TaskIndex(0)).unwrap();
    assert_eq!(report.workers[0].exit, WorkerEnd::Error);
    assert_eq!(report.workers[0].exit_reason, words);
}

#[test]
fn a_driver_that_was_held_up_takes_nobody_for_dead() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    stage.now = stage.now + SECOND.times(20);
    stage.tell(bellis_core::run::Event::Tick);
    stage.expect_nothing();
    stage.heartbeat(conn, &[(0, SECOND)]);
    stage.wait(SECOND);
    stage.expect_nothing();
}

#[test]
fn a_remote_worker_may_come_back_with_its_block() {
    let mut stage = Stage::with(2, workers(1));
    stage.begin_with(1);
    stage.started(0, true);
    let conn = stage.comes_from_afar_for(0, &[0]);
    stage.cut(conn);
    stage.wait(SECOND.times(3));
    stage.expect_nothing();
    assert_eq!(stage.counters().processing, 1);
    let back = stage.resume(conn, &[0]);
    stage.expect([Told::Welcome(back, 0)]);
    stage.succeed(back, &[0]);
    let Told::Grant(_, blocks) = stage.next() else {
        panic!("a grant is due")
    };
    assert_eq!(blocks, [1]);
    assert_eq!(stage.counters().failed_attempts, 0);
}

#[test]
fn grants_lost_on_the_way_go_out_again() {
    let mut stage = Stage::with(2, workers(1));
    stage.begin_with(1);
    let conn = stage.comes_from_afar_for(0, &[0]);
    stage.cut(conn);
    let back = stage.resume(conn, &[]);
    stage.expect([Told::Welcome(back, 0), Told::Grant(back, vec![0])]);
    assert_eq!(stage.counters().failed_attempts, 0);
}

#[test]
fn a_remote_worker_that_comes_too_late_is_sent_home() {
    let mut stage = Stage::with(1, workers(1));
    stage.begin_with(1);
    stage.started(0, false);
    let conn = stage.comes_from_afar_for(0, &[0]);
    stage.cut(conn);
    stage.wait(SECOND.times(5));
    assert_eq!(stage.now, SECOND.times(4));
    assert_eq!(stage.next(), Told::Kill(0, KillReason::Lost));
    assert_eq!(stage.failure().kind, FailureKind::Lost);
    stage.expect([Told::Start(0, 1)]);
    let back = stage.resume(conn, &[0]);
    stage.expect([Told::Shutdown(back, ShutdownReason::Forgotten)]);
    stage.succeed(back, &[0]);
    assert_eq!(stage.counters().completed, 0);
}

#[test]
fn a_worker_may_come_back_before_the_break_was_noticed() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    let back = stage.resume(conn, &[0]);
    stage.expect([
        Told::Close(conn, CloseReason::Replaced),
        Told::Welcome(back, 0),
    ]);
    stage.cut(conn);
    stage.succeed(back, &[0]);
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(back, ShutdownReason::TaskFinished),
    ]);
}

#[test]
fn a_block_past_its_deadline_is_reclaimed_and_the_late_answer_ignored() {
    let task = TaskConfig {
        timeout: SECOND.times(10),
        ..workers(1)
    };
    let (mut stage, conn) = Stage::at_work(1, task);
    for _ in 0..11 {
        stage.wait(SECOND);
        stage.expect_nothing();
        let age = stage.now;
        stage.heartbeat(conn, &[(0, age)]);
    }
    stage.wait(SECOND.times(2));
    stage.expect([
        Told::Close(conn, CloseReason::TimedOut),
        Told::Kill(0, KillReason::TimedOut),
    ]);
    stage.succeed(conn, &[0]);
    stage.exit(0, ExitKind::Signal(9));
    assert_eq!(stage.failure().kind, FailureKind::TimedOut);
    stage.expect([Told::Start(0, 1)]);
    let counters = stage.counters();
    assert_eq!(
        (
            counters.timeouts,
            counters.failed_attempts,
            counters.completed
        ),
        (1, 1, 0)
    );
}

#[test]
fn the_workers_own_watchdog_counts_as_a_timeout_and_its_death_is_awaited() {
    let (mut stage, conn) = Stage::at_work(1, workers(1));
    let result = stage.result(0, bellis_core::run::BlockStatus::TimedOut);
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[result],
    });
    stage.expect([
        Told::Close(conn, CloseReason::TimedOut),
        Told::Kill(0, KillReason::TimedOut),
    ]);
    assert_eq!(stage.counters().processing, 1);
    stage.exit(0, ExitKind::TimedOut);
    assert_eq!(stage.failure().kind, FailureKind::TimedOut);
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().timeouts, 1);
}

#[test]
fn a_worker_that_keeps_a_block_without_starting_it_gives_it_back_and_goes_the_second_time() {
    let task = TaskConfig {
        timeout: SECOND.times(3),
        ..workers(1)
    };
    let (mut stage, conn) = Stage::at_work(1, task);
    let dawdle = |stage: &mut Stage| {
        while stage.peek().is_none() {
            stage.heartbeat(conn, &[]);
            stage.wait(SECOND);
        }
    };
    dawdle(&mut stage);
    assert_eq!(stage.now, SECOND.times(5));
    stage.expect([Told::Retract(conn, vec![0])]);
    stage.give_back(conn, &[0]);
    stage.expect([Told::Grant(conn, vec![0])]);
    dawdle(&mut stage);
    assert_eq!(stage.now, SECOND.times(10));
    stage.expect([
        Told::Close(conn, CloseReason::NoAnswer),
        Told::Kill(0, KillReason::Lost),
    ]);
    stage.exit(0, ExitKind::Stopped);
    stage.failure();
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().failed_attempts, 0);
}

#[test]
fn a_block_that_wont_come_back_has_started_and_has_a_deadline() {
    let task = TaskConfig {
        timeout: SECOND.times(3),
        ..workers(1)
    };
    let (mut stage, conn) = Stage::at_work(1, task);
    let mut reclaimed = false;
    for _ in 0..14 {
        stage.wait(SECOND);
        match stage.peek() {
            None => stage.heartbeat(conn, &[]),
            Some(Told::Retract(..)) => {
                stage.next();
                stage.give_back(conn, &[]);
            }
            Some(Told::Close(..)) => {
                reclaimed = true;
                break;
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(reclaimed);
    stage.expect([
        Told::Close(conn, CloseReason::TimedOut),
        Told::Kill(0, KillReason::TimedOut),
    ]);
}

#[test]
fn blocks_that_ran_together_when_their_worker_died_run_alone() {
    let task = TaskConfig {
        on_block_error: OnBlockError::KeepWorker,
        ..workers(1)
    };
    let mut stage = Stage::with(4, task);
    stage.begin_with(1);
    stage.started(0, true);
    let conn = stage.comes_for(0, &[0, 1]);
    stage.cut(conn);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Signal(11));
    stage.failure();
    stage.expect([Told::Start(0, 1)]);
    assert_eq!(stage.counters().failed_attempts, 0);
    let conn = stage.connect(Some(1));
    stage.expect([Told::Welcome(conn, 1)]);
    stage.acquire(conn, 2);
    stage.expect([Told::GrantAlone(conn, vec![0])]);
    stage.succeed(conn, &[0]);
    stage.expect([Told::GrantAlone(conn, vec![1])]);
    // Alone, there is no doubt whose fault a death is.
    stage.started(1, true);
    stage.cut(conn);
    stage.expect([Told::Kill(1, KillReason::Lost)]);
    stage.exit(1, ExitKind::Signal(11));
    assert_eq!(stage.failure().block.map(|block| block.0), Some(1));
    stage.expect([Told::Start(0, 2)]);
}

#[test]
fn a_block_that_ended_its_worker_has_no_company_from_then_on() {
    let task = TaskConfig {
        on_block_error: OnBlockError::KeepWorker,
        ..workers(1)
    };
    let mut stage = Stage::with(4, task);
    stage.begin_with(1);
    let conn = stage.comes_for(0, &[0, 1, 2]);
    stage.started(0, true);
    stage.cut_while(conn, &[1]);
    stage.expect([Told::Kill(0, KillReason::Lost)]);
    stage.exit(0, ExitKind::Signal(6));
    assert_eq!(stage.failure().block.map(|block| block.0), Some(1));
    stage.expect([Told::Start(0, 1)]);
    let conn = stage.comes_for(1, &[0, 2, 3]);
    stage.succeed(conn, &[0, 2]);
    stage.expect_nothing();
    stage.succeed(conn, &[3]);
    stage.expect([Told::GrantAlone(conn, vec![1])]);
    // An error that it threw itself tells nothing of the kind.
    stage.throw(conn, 1);
    assert_eq!(stage.failure().attempt, 2);
    stage.expect([Told::Grant(conn, vec![1])]);
}

#[test]
fn a_block_called_failed_without_a_throw_says_nothing_against_its_worker() {
    let (mut stage, conn) = Stage::at_work(2, workers(1));
    let result = stage.result(0, bellis_core::run::BlockStatus::Failed);
    stage.tell(bellis_core::run::Event::Released {
        conn,
        results: &[result],
    });
    assert_eq!(stage.failure().error.name, "BlockFailed");
    stage.expect([Told::Grant(conn, vec![1, 0])]);
    assert_eq!(stage.counters().worker_failures, 0);
}
