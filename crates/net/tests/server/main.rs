//! The server against real clients, against workers that a test plays, and against strangers.

mod chaos;
mod cuts;
mod liar;
mod network;
mod notes;
mod peer;
mod resume;
mod rig;
mod strangers;

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bellis_core::run::{FailureKind, Outcome as RunOutcome, RunError};
use bellis_core::BlockIndex;
use bellis_net::message::*;
use bellis_net::{Client, Command, Keeper, Take};

use peer::Peer;
use rig::{Rig, PATIENCE};

/// Works until there is no more. Fails the blocks that `fails` names.
fn work(client: &Client, fails: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut ran = Vec::new();
    loop {
        match client.take_timeout(PATIENCE) {
            Take::Block(block) => {
                ran.push(block);
                let error = || ErrorReport {
                    name: "RangeError".into(),
                    message: format!("no {block}"),
                    ..ErrorReport::default()
                };
                let result = if fails(block) { Err(error()) } else { Ok(()) };
                client.finish(block, result).unwrap();
            }
            Take::Empty => panic!("nothing came"),
            Take::NoMore => break,
            Take::Lost => panic!("{:?}", client.end()),
        }
    }
    client.close();
    ran
}

#[test]
fn every_block_runs_once_on_some_worker() {
    let rig = Rig::new(5000);
    let clients: Vec<Client> = (0..4).map(|_| rig.client()).collect();
    for client in &clients {
        // One that comes when all is done finds nobody.
        client.wait_connected(PATIENCE).unwrap().unwrap();
    }
    let workers: Vec<_> = clients
        .into_iter()
        .map(|client| thread::spawn(move || work(&client, |_| false)))
        .collect();
    let mut ran: Vec<u64> = workers
        .into_iter()
        .flat_map(|worker| worker.join().unwrap())
        .collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..5000).collect::<Vec<u64>>());
    let ended = rig.finish();
    assert_eq!(ended.outcome, RunOutcome::Finished);
    assert_eq!(ended.snapshot.unwrap().tasks[0].completed, 5000);
    assert_eq!(ended.reports[0].round_trip.count(), 5000);
    let workers = &ended.reports[0].workers;
    let counted: u64 = workers.iter().map(|worker| worker.blocks).sum();
    assert_eq!(counted, 5000);
}

#[test]
fn failed_blocks_are_tried_again_and_their_errors_arrive() {
    let rig = Rig::with(20, |plan| plan.spec.max_retries = 2);
    let client = rig.client();
    let ran = work(&client, |block| block == 7);
    let mut times = HashMap::new();
    for block in ran {
        *times.entry(block).or_insert(0) += 1;
    }
    assert_eq!(times.remove(&7), Some(3));
    assert!(times.values().all(|&times| times == 1));
    for attempt in 1..=3 {
        let report = rig.hear_failure();
        assert_eq!(report.block, Some(BlockIndex(7)));
        assert_eq!(report.attempt, attempt);
        assert_eq!(report.permanent, attempt == 3);
        assert_eq!(report.error.message, "no 7");
    }
    let ended = rig.finish();
    let counters = ended.snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed), (19, 1));
}

#[test]
fn a_worker_that_dies_loses_a_try_of_its_running_block_and_of_no_other() {
    let rig = Rig::new(100);
    let (mut dying, _) = Peer::welcome(&rig);
    dying.say(&WorkerMessage::Acquire { n: 1 });
    let first = dying.hear_grant();
    dying.release(&first);
    // Short blocks: all at once now.
    let granted = dying.hear_grants(99);
    dying.say(&WorkerMessage::Heartbeat {
        sent: 2_000_000_000,
        round_trip: None,
        running: vec![(granted[0], 1)],
    });
    assert!(matches!(dying.hear(), DriverMessage::Pong { .. }));
    dying.hang_up();
    let report = rig.hear_failure();
    assert_eq!(report.block, Some(BlockIndex(granted[0])));
    assert_eq!(report.kind, FailureKind::Lost);
    let mut ran = work(&rig.client(), |_| false);
    ran.sort_unstable();
    let rest: Vec<u64> = (0..100).filter(|block| !first.contains(block)).collect();
    assert_eq!(ran, rest);
    let ended = rig.finish();
    let counters = ended.snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed_attempts), (100, 1));
}

#[test]
fn last_words_say_which_block_is_to_blame() {
    let rig = Rig::new(100);
    let (mut dying, _) = Peer::welcome(&rig);
    dying.say(&WorkerMessage::Acquire { n: 1 });
    let first = dying.hear_grant();
    dying.release(&first);
    let granted = dying.hear_grants(99);
    dying.say(&WorkerMessage::Exiting {
        code: 9,
        running: BlockList(vec![granted[3]]),
    });
    dying.hang_up();
    assert_eq!(rig.hear_failure().block, Some(BlockIndex(granted[3])));
    work(&rig.client(), |_| false);
    rig.finish();
}

#[test]
fn an_idle_worker_gets_what_another_one_hoards() {
    let rig = Rig::new(200);
    let (mut rich, _) = Peer::welcome(&rig);
    rich.say(&WorkerMessage::Acquire { n: 1 });
    let first = rich.hear_grant();
    rich.release(&first);
    let hoard = rich.hear_grants(199);
    let (mut idle, _) = Peer::welcome(&rig);
    idle.say(&WorkerMessage::Acquire { n: 1 });
    let DriverMessage::Retract { blocks } = rich.hear() else {
        panic!("no retraction")
    };
    assert!(blocks.0.iter().all(|block| hoard.contains(block)));
    assert!(!blocks.0.contains(&hoard[0]), "the first one runs");
    // Only what it confirms is given to others.
    let kept = blocks.0[0];
    let returned = BlockList(blocks.0[1..].to_vec());
    rich.say(&WorkerMessage::Returned {
        blocks: returned.clone(),
    });
    let granted = idle.hear_grant();
    assert!(granted.iter().all(|block| returned.0.contains(block)));
    assert!(!granted.contains(&kept));
    rich.say(&WorkerMessage::Goodbye);
    idle.say(&WorkerMessage::Goodbye);
    work(&rig.client(), |_| false);
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed_attempts), (200, 0));
}

#[test]
fn results_that_nobody_asked_for_change_nothing() {
    let rig = Rig::new(3);
    let (mut lying, _) = Peer::welcome(&rig);
    lying.release(&[0, 1, 2, 77, u64::MAX]);
    lying.say(&WorkerMessage::Returned {
        blocks: BlockList(vec![0, u64::MAX]),
    });
    lying.say(&WorkerMessage::Acquire { n: 1 });
    let granted = lying.hear_grant();
    lying.release(&[granted[0], granted[0]]);
    lying.say(&WorkerMessage::Goodbye);
    let ran = work(&rig.client(), |_| false);
    assert_eq!(ran.len(), 2);
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!(counters.completed, 3);
}

#[test]
fn a_task_that_does_not_exist_is_said_so() {
    let rig = Rig::new(1);
    let mut peer = Peer::stranger(&rig);
    peer.introduce("another");
    let reason = ShutdownReason::UnknownTask;
    assert_eq!(peer.hear(), DriverMessage::Shutdown { reason });
    drop(peer);
    work(&rig.client(), |_| false);
    rig.finish();
}

#[test]
fn an_interrupt_lets_finish_what_runs_and_takes_back_the_rest() {
    let rig = Rig::new(100);
    let client = rig.client();
    let Take::Block(block) = client.take_timeout(PATIENCE) else {
        panic!("nothing came")
    };
    assert!(rig.server.commands().send(Command::Interrupt));
    while client.end().is_none() {
        thread::yield_now();
    }
    client.finish(block, Ok(())).unwrap();
    assert_eq!(client.take(), Take::NoMore);
    client.close();
    let ended = rig.finish();
    assert_eq!(ended.outcome, RunOutcome::Interrupted);
    assert_eq!(ended.snapshot.unwrap().tasks[0].completed, 1);
}

#[test]
fn after_the_end_nobody_listens_any_more() {
    let rig = Rig::new(1);
    let (port, commands) = (rig.port, rig.server.commands());
    work(&rig.client(), |_| false);
    rig.finish();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(!commands.send(Command::Interrupt));
}

/// With Nagle's algorithm on one of the two sides each of these would take 40 ms, so that no round
/// of a hundred could be over in two seconds. On a busy machine not every round has to.
#[test]
fn a_hundred_lone_blocks_take_a_hundred_short_round_trips() {
    const ROUNDS: i64 = 5;
    let rig = Rig::with(100 * ROUNDS, |plan| plan.task.check_batch = 1);
    let (mut peer, _) = Peer::welcome(&rig);
    peer.say(&WorkerMessage::Acquire { n: 1 });
    let mut done = 0;
    let took: Vec<Duration> = (1..=ROUNDS)
        .map(|round| {
            let began = Instant::now();
            while done < 100 * round {
                let granted = peer.hear_grant();
                // One small message after the other, none of which waits for an answer.
                for block in granted {
                    peer.release(&[block]);
                    peer.say(&WorkerMessage::Acquire { n: 1 });
                    done += 1;
                }
            }
            began.elapsed()
        })
        .collect();
    let quickest = took.iter().min().unwrap();
    assert!(*quickest < Duration::from_secs(2), "{took:?}");
    peer.say(&WorkerMessage::Goodbye);
    rig.finish();
}

#[test]
fn a_peer_that_takes_nothing_in_is_not_listened_to() {
    let rig = Rig::new(1);
    let (mut peer, _) = Peer::welcome(&rig);
    peer.stream
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    // Each heartbeat is answered, so the answers pile up at the server unless it stops listening.
    let mut plain = Vec::new();
    for sent in 0..5_000u64 {
        let message = WorkerMessage::Heartbeat {
            sent: sent << 40,
            round_trip: None,
            running: vec![],
        };
        bellis_net::codec::encode(&message, usize::MAX, &mut plain).unwrap();
    }
    let mut asked = 0u64;
    while peer.try_say_plain(&plain) {
        asked += 5_000;
        assert!(asked < 20_000_000, "it took in everything");
    }
    drop(peer);
    work(&rig.client(), |_| false);
    rig.finish();
}

struct Disk(mpsc::Sender<&'static str>, Result<(), RunError>);

impl Keeper for Disk {
    fn flush(&mut self) -> Result<(), RunError> {
        self.0.send("flush").unwrap();
        Ok(())
    }
    fn close(&mut self) -> Result<(), RunError> {
        self.0.send("close").unwrap();
        self.1.clone()
    }
}

#[test]
fn stores_are_closed_before_the_end_is_told() {
    let full = RunError::Driver {
        code: "ERR_BELLIS_STORE".into(),
        message: "no space left on device".into(),
    };
    for result in [Ok(()), Err(full)] {
        let (sender, seen) = mpsc::channel();
        let keeper = Box::new(Disk(sender, result.clone()));
        let rig = Rig::with(3, |plan| plan.options.keeper = Some(keeper));
        work(&rig.client(), |_| false);
        let ended = rig.finish();
        assert_eq!(seen.try_iter().last(), Some("close"));
        let expected = result.map_or_else(RunOutcome::Failed, |()| RunOutcome::Finished);
        assert_eq!(ended.outcome, expected);
    }
}

#[test]
fn a_panic_of_the_thread_ends_the_run_with_an_error() {
    let rig = Rig::with(3, |plan| plan.host_panics = true);
    let ended = rig.finish();
    let RunOutcome::Failed(RunError::Driver { code, message }) = ended.outcome else {
        panic!("{:?}", ended.outcome)
    };
    assert_eq!(code, "ERR_BELLIS_PANIC");
    assert!(message.contains("as it was told to"), "{message}");
}

#[test]
fn a_setup_that_no_frame_can_carry_is_refused_at_once() {
    let rig = std::panic::catch_unwind(|| {
        Rig::with(1, |plan| {
            plan.options.tasks[0].config = Bytes(vec![0; 65 << 20]);
        })
    });
    assert!(rig.is_err());
}
