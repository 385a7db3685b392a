//! How much is in a worker's hands, and who gets what is taken back.

use bellis_core::run::{
    BlockResult, BlockStatus, ConnectionId, Event, Nanos, OnBlockError, RunConfig, ShutdownReason,
    TaskConfig,
};

use crate::graphs::Graph;
use crate::stage::{workers, Stage, Told};

fn crowd(max_workers: u32) -> TaskConfig {
    TaskConfig {
        on_block_error: OnBlockError::KeepWorker,
        ..workers(max_workers)
    }
}

/// The worker finishes these blocks, each in `took`.
fn finish(stage: &mut Stage, conn: ConnectionId, blocks: &[u64], took: Nanos) {
    let results: Vec<BlockResult> = blocks
        .iter()
        .map(|block| {
            let mut result = stage.result(*block, BlockStatus::Success);
            (result.started, result.ended) = (stage.now, stage.now + took);
            stage.now = result.ended;
            result
        })
        .collect();
    stage.tell(Event::Released {
        conn,
        results: &results,
    });
}

#[test]
fn long_blocks_come_one_at_a_time() {
    let mut stage = Stage::with(100, crowd(1));
    stage.begin_with(1);
    let (conn, mut hand) = stage.arrive(0);
    for next in 1..20 {
        finish(&mut stage, conn, &hand, Nanos::from_secs(2));
        hand = stage.granted(conn);
        assert_eq!(hand, [next]);
    }
}

#[test]
fn short_blocks_come_in_hundreds() {
    let mut stage = Stage::with(100_000, crowd(1));
    stage.begin_with(1);
    let (conn, mut hand) = stage.arrive(0);
    let mut most = 0;
    for _ in 0..40 {
        let half = hand.len().div_ceil(2);
        let done: Vec<u64> = hand.drain(..half).collect();
        finish(&mut stage, conn, &done, Nanos(500));
        hand.extend(stage.granted(conn));
        most = most.max(hand.len());
    }
    assert!((256..=1025).contains(&most), "{most}");
}

#[test]
fn an_idle_worker_gets_what_a_stuck_one_has_not_started() {
    let mut stage = Stage::with(40, crowd(2));
    stage.begin_with(2);
    let (busy, _) = stage.arrive(0);
    finish(&mut stage, busy, &[0], Nanos::from_micros(20));
    let hand = stage.granted(busy);
    assert_eq!(hand.len(), 39);
    // The next block takes long. Somebody comes who has nothing.
    stage.now = stage.now + Nanos::from_millis(50);
    let (idle, nothing) = stage.arrive(1);
    assert!(nothing.is_empty());
    stage.wait(Nanos::from_millis(20));
    let Told::Retract(from, asked) = stage.next() else {
        panic!("blocks are taken back")
    };
    assert_eq!(from, busy);
    assert!(asked.len() >= 19 && !asked.contains(&hand[0]), "{asked:?}");
    stage.expect_nothing();
    // Nobody gets them before it is sure that they didn't start. One did.
    let returned: Vec<u64> = asked[1..].to_vec();
    assert_eq!(stage.counters().ready, 0);
    stage.give_back(busy, &returned);
    let got = stage.granted(idle);
    assert_eq!(got[0], returned[0]);
    assert_eq!(stage.counters().failed_attempts, 0);
}

#[test]
fn a_worker_that_is_nearly_through_is_left_alone() {
    let mut stage = Stage::with(4, crowd(2));
    stage.begin_with(2);
    let (busy, _) = stage.arrive(0);
    finish(&mut stage, busy, &[0], Nanos::from_micros(20));
    assert_eq!(stage.granted(busy).len(), 3);
    let (_, nothing) = stage.arrive(1);
    assert!(nothing.is_empty());
    stage.wait(Nanos::from_millis(1));
    stage.expect_nothing();
}

#[test]
fn whoever_gives_back_unasked_waits_for_its_next_wish() {
    let mut stage = Stage::with(4, crowd(1));
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.give_back(conn, &[0]);
    stage.expect_nothing();
    assert_eq!(stage.counters().ready, 4);
    stage.acquire(conn, 1);
    stage.expect([Told::Grant(conn, vec![0])]);
}

#[test]
fn a_demand_can_be_taken_back() {
    let mut stage = Stage::with(4, crowd(1));
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    stage.acquire(conn, 0);
    finish(&mut stage, conn, &[0], Nanos::from_secs(1));
    stage.expect_nothing();
    stage.acquire(conn, 3);
    stage.expect([Told::Grant(conn, vec![1, 2, 3])]);
}

#[test]
fn what_becomes_ready_goes_to_those_who_have_nothing() {
    // Blocks with context: neighbours never run together.
    let graph = Graph::neighbours(7);
    let mut stage = Stage::new(graph, RunConfig::new(vec![crowd(8)]));
    stage.begin();
    let mut conns = Vec::new();
    let mut starts = Vec::new();
    while let Some(Told::Start(_, worker)) = stage.peek().cloned() {
        stage.next();
        starts.push(worker);
    }
    for worker in starts {
        conns.push(stage.arrive(worker));
    }
    let (conn, hand) = conns[0].clone();
    let before = stage.counters();
    assert!(before.pending > 0, "{before:?}");
    finish(&mut stage, conn, &hand, Nanos::from_millis(200));
    let after = stage.counters();
    assert_eq!(after.completed, 1);
    while stage.peek().is_some() {
        stage.next();
    }
}

#[test]
fn two_thousand_workers_are_all_served() {
    let mut stage = Stage::with(100_000, crowd(1));
    stage.begin_with(1);
    let mut hands = Vec::new();
    for _ in 0..2000 {
        let conn = stage.connect(None);
        stage.next();
        stage.acquire(conn, 1);
        hands.push((conn, stage.granted(conn)));
    }
    let mut served = vec![0usize; hands.len()];
    for _ in 0..5 {
        // All work at the same time, 30 µs a block.
        stage.now = stage.now + Nanos::from_millis(4);
        for at in 0..hands.len() {
            let (conn, hand) = hands[at].clone();
            served[at] += hand.len();
            let took = Nanos::from_micros(30);
            let end = stage.now;
            stage.now = end - took.times(hand.len() as u64);
            finish(&mut stage, conn, &hand, took);
            hands[at].1 = stage.granted(conn);
            while stage.peek().is_some() {
                stage.next();
            }
        }
    }
    let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
    assert!(*least >= 5, "{least}");
    assert!(most - least <= 400, "{least} to {most}");
}

#[test]
fn nothing_is_prefetched_for_the_end_of_a_day() {
    let mut stage = Stage::with(2, crowd(1));
    stage.begin_with(1);
    let (conn, _) = stage.arrive(0);
    finish(&mut stage, conn, &[0], Nanos::from_micros(20));
    assert_eq!(stage.granted(conn), [1]);
    finish(&mut stage, conn, &[1], Nanos::from_micros(20));
    stage.expect([
        Told::TaskFinished(0),
        Told::Shutdown(conn, ShutdownReason::TaskFinished),
    ]);
}
