//! A network between two machines that is slow and loses connections where it likes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Numbers that look random and depend on the seed alone.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.roll(many) == 0
    }
}

pub(crate) fn seed() -> u64 {
    let given = std::env::var("BELLIS_SEED").ok();
    let given = given.and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("BELLIS_SEED={seed}");
    seed
}

/// What is wrong with a network.
#[derive(Clone, Copy)]
pub(crate) struct Weather {
    /// A connection is cut after at most so many bytes in one direction.
    pub(crate) cut_within: u64,
    /// One in so many reads is held up; 0 for none.
    pub(crate) stall_one_in: u64,
}

/// Passes bytes on until it has passed on `most`, then cuts both directions.
fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    most: u64,
    stall_one_in: u64,
    dice: &mut Dice,
    cuts: &AtomicU64,
) {
    let mut left = most;
    let mut buffer = [0; 1024];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => bytes,
        };
        if stall_one_in > 0 && dice.one_in(stall_one_in) {
            thread::sleep(Duration::from_millis(dice.roll(300)));
        }
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

/// A port that leads to the server by way of such a network. Counts the cuts.
pub(crate) fn bad_network(
    port: u16,
    mut dice: Dice,
    weather: Weather,
    cuts: Arc<AtomicU64>,
) -> u16 {
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
            let ways = [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server, client),
            ];
            for (from, to) in ways {
                // Never before a new worker has been welcomed: that one has nothing to come back to.
                let most = 600 + dice.roll(weather.cut_within);
                let mut dice = Dice(dice.roll(u64::MAX));
                let cuts = Arc::clone(&cuts);
                thread::spawn(move || {
                    pass(from, to, most, weather.stall_one_in, &mut dice, &cuts);
                });
            }
        }
    });
    own
}
