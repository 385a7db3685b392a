//! A network between two machines that cuts connections where it likes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use bellis_net::Client;

use crate::rig::Rig;
use crate::work;

/// Numbers that look random and depend on the seed alone.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

fn seed() -> u64 {
    let given = std::env::var("BELLIS_SEED").ok();
    let given = given.and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("BELLIS_SEED={seed}");
    seed
}

/// Passes bytes on until it has passed on `most`, then cuts both directions.
fn pass(mut from: TcpStream, mut to: TcpStream, most: u64, cuts: &AtomicU64) {
    let mut left = most;
    let mut buffer = [0; 1024];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => bytes,
        };
        let part = bytes.min(usize::try_from(left).unwrap_or(usize::MAX));
        left -= part as u64;
        if to.write_all(&buffer[..part]).is_err() {
            break;
        }
        if left == 0 {
            cuts.fetch_add(1, Ordering::Relaxed);
            break;
        }
    }
    for stream in [&from, &to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// A port that leads to the server, by way of cuts.
fn bad_network(port: u16, mut dice: Dice, cuts: Arc<AtomicU64>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                return;
            };
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            // Never before a new worker has been welcomed: that one has nothing to come back to.
            let mut most = || 600 + dice.roll(20_000);
            let (up, down) = (most(), most());
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let counter = Arc::clone(&cuts);
            thread::spawn(move || pass(from, to, up, &counter));
            let counter = Arc::clone(&cuts);
            thread::spawn(move || pass(server, client, down, &counter));
        }
    });
    own
}

#[test]
fn every_block_runs_once_although_connections_are_cut_anywhere() {
    const BLOCKS: u64 = 60_000;
    let seed = seed();
    let rig = Rig::with(BLOCKS as i64, |plan| plan.options.all_remote = true);
    let cuts = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let mut options = rig.options();
            options.port = bad_network(rig.port, Dice(seed ^ worker), Arc::clone(&cuts));
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
