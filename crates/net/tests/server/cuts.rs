//! Workers whose connections are cut.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use bellis_net::Client;

use crate::network::{bad_network, seed, Dice, Weather};
use crate::rig::Rig;
use crate::work;

#[test]
fn every_block_runs_once_although_connections_are_cut_anywhere() {
    const BLOCKS: u64 = 60_000;
    let seed = seed();
    let rig = Rig::with(BLOCKS as i64, |plan| plan.options.all_remote = true);
    let cuts = Arc::new(AtomicU64::new(0));
    let weather = Weather {
        cut_within: 20_000,
        stall_one_in: 0,
    };
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let mut options = rig.options();
            let dice = Dice(seed ^ worker);
            options.port = bad_network(rig.port, dice, weather, Arc::clone(&cuts));
            let client = Client::connect_as_remote(options).unwrap();
            thread::spawn(move || work(&client, |_| false))
        })
        .collect();
    let mut ran: Vec<u64> = workers
        .into_iter()
        .flat_map(|worker| worker.join().unwrap())
        .collect();
    ran.sort_unstable();
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!(counters.completed, BLOCKS, "seed {seed}");
    assert_eq!(counters.failed_attempts, 0, "seed {seed}");
    assert!(ran.iter().copied().eq(0..BLOCKS), "seed {seed}");
    let cuts = cuts.load(Ordering::Relaxed);
    assert!(cuts >= 5, "only {cuts} cuts, seed {seed}");
}
