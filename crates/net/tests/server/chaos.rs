//! Slow and broken connections, and liars among the workers: whatever they say and leave unsaid, each
//! block is done once, by somebody who had it.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bellis_core::run::Outcome;
use bellis_core::{BlockRecord, DoneMap, RecordError};
use bellis_net::message::ShutdownReason;
use bellis_net::{Client, ClientOptions, End, Take};

use crate::liar::{lie, Visit};
use crate::network::{bad_network, seed, Dice, Weather};
use crate::rig::{Rig, PATIENCE};

const BLOCKS: u64 = 1_500;
const WORKERS: u64 = 3;
const LIARS: u64 = 2;
const VISITS: u64 = 25;

/// Every mark that the run makes.
#[derive(Clone, Default)]
struct Marks(Arc<Mutex<Vec<(u64, BlockRecord)>>>);

impl DoneMap for Marks {
    fn is_done(&self, cell: u64) -> bool {
        self.0.lock().unwrap().iter().any(|(done, _)| *done == cell)
    }
    fn record_done(&mut self, cell: u64, record: Option<&BlockRecord>) -> Result<(), RecordError> {
        let record = *record.expect("each block is recorded with its worker");
        self.0.lock().unwrap().push((cell, record));
        Ok(())
    }
    fn record_undone(&mut self, _: u64) -> Result<(), RecordError> {
        panic!("nobody asked for a block to run again")
    }
    fn record_failure(&mut self, _: u64) -> Result<(), RecordError> {
        Ok(())
    }
}

/// Blocks by the number of the worker that ran them.
type Ran = HashMap<u32, Vec<u64>>;

/// Runs blocks as they come, each for a moment, and comes again when it's sent home too early.
fn work(connect: impl Fn() -> Client, mut dice: Dice) -> Ran {
    let mut ran = Ran::new();
    loop {
        let client = connect();
        if client.wait_connected(PATIENCE).expect("an answer").is_err() {
            return ran;
        }
        let blocks = ran.entry(client.worker_id().unwrap()).or_default();
        loop {
            match client.take_timeout(PATIENCE) {
                Take::Block(block) => {
                    thread::sleep(Duration::from_micros(dice.roll(1500)));
                    blocks.push(block);
                    client.finish(block, Ok(())).unwrap();
                }
                Take::NoMore => break,
                other => panic!("{other:?}, {:?}", client.end()),
            }
        }
        let end = client.end();
        client.close();
        if end != Some(End::Shutdown(ShutdownReason::Idle)) {
            return ran;
        }
    }
}

#[test]
fn among_liars_on_bad_connections_each_block_is_done_once_by_somebody_who_had_it() {
    let seconds = std::env::var("BELLIS_CHAOS_SECONDS").ok();
    let seconds = seconds.map_or(1, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut round = seed();
    loop {
        play(round);
        if Instant::now() >= end {
            return;
        }
        round = Dice(round).roll(u64::MAX);
        println!("then BELLIS_SEED={round}");
    }
}

fn play(seed: u64) {
    let mut dice = Dice(seed);
    let marks = Marks::default();
    let rig = Rig::with(BLOCKS as i64, |plan| {
        plan.options.all_remote = true;
        plan.spec.max_retries = u32::MAX - 1;
        plan.done = Some(Box::new(marks.clone()));
    });
    // As long as this one has a block, the run goes on.
    let holder = rig.client();
    let Take::Block(held) = holder.take_timeout(PATIENCE) else {
        panic!("no block for the first worker")
    };
    let weather = Weather {
        cut_within: 60_000,
        stall_one_in: 40,
    };
    let cuts = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let network = Dice(dice.roll(u64::MAX));
            let port = bad_network(rig.port, network, weather, Arc::clone(&cuts));
            let door = rig.door();
            let connect = move || {
                let options = ClientOptions {
                    port,
                    ..door.options()
                };
                Client::connect_as_remote(options).unwrap()
            };
            let dice = Dice(dice.roll(u64::MAX));
            thread::spawn(move || work(connect, dice))
        })
        .collect();
    let visits: Vec<Visit> = thread::scope(|scope| {
        let liars: Vec<_> = (0..LIARS)
            .map(|_| {
                let (rig, mut dice) = (&rig, Dice(dice.roll(u64::MAX)));
                scope.spawn(move || {
                    (0..VISITS)
                        .filter_map(|_| lie(rig, BLOCKS, Dice(dice.roll(u64::MAX))))
                        .collect::<Vec<Visit>>()
                })
            })
            .collect();
        let visits = liars.into_iter().flat_map(|liar| liar.join().unwrap());
        visits.collect()
    });
    let mut ran = Ran::from([(holder.worker_id().unwrap(), vec![held])]);
    holder.finish(held, Ok(())).unwrap();
    holder.close();
    for worker in workers {
        ran.extend(worker.join().unwrap());
    }
    let ended = rig.finish();
    assert_eq!(ended.outcome, Outcome::Finished);
    let counters = ended.snapshot.unwrap().tasks[0];
    let ends = (counters.completed, counters.failed, counters.orphaned);
    assert_eq!(ends, (BLOCKS, 0, 0));
    check(&marks.0.lock().unwrap(), &ran, &visits);
}

/// Each block has one mark. Either one worker ran it, once, and that is whose mark it has; or it was
/// given to a liar, whose word had to be believed, and nobody else ran it.
fn check(marks: &[(u64, BlockRecord)], ran: &Ran, visits: &[Visit]) {
    let mut marked: Vec<u64> = marks.iter().map(|(block, _)| *block).collect();
    marked.sort_unstable();
    assert!(marked.into_iter().eq(0..BLOCKS));
    let mut runs: HashMap<u64, Vec<u32>> = HashMap::new();
    for (&worker, blocks) in ran {
        for &block in blocks {
            runs.entry(block).or_default().push(worker);
        }
    }
    for (block, record) in marks {
        let by = record.worker_id;
        let (sent, returned) = (record.sent_at, record.returned_at);
        assert!(
            0.0 <= sent && sent <= returned && returned < 600.0,
            "{block}: {record:?}"
        );
        let runners = runs.remove(block).unwrap_or_default();
        if ran.contains_key(&by) {
            assert_eq!(runners, [by], "block {block}");
            continue;
        }
        let liar = visits.iter().find(|visit| visit.worker == by);
        let liar = liar.unwrap_or_else(|| panic!("block {block} is done by nobody: {by}"));
        assert!(liar.granted.contains(block), "{by} never had block {block}");
        assert_eq!(runners, [], "block {block}, which {by} said was done");
    }
    assert_eq!(runs, HashMap::new());
}
