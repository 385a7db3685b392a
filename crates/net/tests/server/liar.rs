//! A worker with the right secret that lies: it answers for blocks it never had, twice, with times
//! that can't be, and breaks off where it likes.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use bellis_net::message::*;

use crate::network::Dice;
use crate::peer::{socket, Peer};
use crate::rig::Rig;

/// What became of a visit.
pub(crate) struct Visit {
    /// Number as a worker.
    pub(crate) worker: u32,
    /// Every block that it was ever given.
    pub(crate) granted: BTreeSet<u64>,
}

struct Liar {
    peer: Peer,
    token: ResumeToken,
    visit: Visit,
    dice: Dice,
    blocks: u64,
}

/// One visit, to a run of so many blocks.
pub(crate) fn lie(rig: &Rig, blocks: u64, mut dice: Dice) -> Option<Visit> {
    if dice.one_in(6) {
        make_noise(rig, &mut dice);
        return None;
    }
    let (peer, welcome) = Peer::welcome(rig);
    let mut liar = Liar {
        peer,
        token: welcome.token,
        visit: Visit {
            worker: welcome.worker,
            granted: BTreeSet::new(),
        },
        dice,
        blocks,
    };
    for _ in 0..liar.dice.roll(40) {
        if !liar.step() {
            break;
        }
    }
    if !liar.dice.one_in(4) {
        liar.say(&WorkerMessage::Goodbye);
    }
    // A guess may have hit a block that was on its way here.
    let rest = liar.peer.fall_silent();
    liar.hears(rest);
    Some(liar.visit)
}

/// Bytes that are no conversation.
fn make_noise(rig: &Rig, dice: &mut Dice) {
    let mut stream = socket(rig);
    let length = dice.roll(5000);
    let noise: Vec<u8> = (0..length).map(|_| dice.roll(256) as u8).collect();
    // It may have been thrown out in the middle.
    let _ = stream.write_all(&noise);
}

impl Liar {
    /// False when nobody listens any more.
    fn step(&mut self) -> bool {
        let heard = self.peer.overhear(Duration::from_millis(1));
        self.hears(heard);
        let message = match self.dice.roll(14) {
            0..=2 => WorkerMessage::Acquire {
                n: [0, 1, 3, u32::MAX][self.dice.roll(4) as usize],
            },
            3..=6 => self.released(),
            7 | 8 => WorkerMessage::Returned {
                blocks: self.some_blocks(),
            },
            9 | 10 => WorkerMessage::Heartbeat {
                sent: self.odd_time(),
                round_trip: Some(self.odd_time()).filter(|time| time % 2 == 0),
                running: vec![(self.some_block(), self.odd_time()); self.dice.roll(3) as usize],
            },
            11 => WorkerMessage::Exiting {
                code: self.dice.roll(300) as i32 - 20,
                running: self.some_blocks(),
            },
            12 => WorkerMessage::Unusable {
                fatal: false,
                error: ErrorReport::default(),
            },
            _ => return self.break_rules(),
        };
        self.say(&message)
    }

    fn hears(&mut self, messages: Vec<DriverMessage>) {
        for message in messages {
            if let DriverMessage::Grant { blocks, .. } = message {
                self.visit.granted.extend(blocks.0);
            }
        }
    }

    /// Ends it all, mostly.
    fn break_rules(&mut self) -> bool {
        match self.dice.roll(6) {
            0 => {
                // Everything once more: from the middle of a session it makes no sense.
                let again = self.peer.sent.clone();
                self.peer.stream.write_all(&again).is_ok()
            }
            1 => {
                let noise = vec![self.dice.roll(256) as u8; 70];
                self.peer.stream.write_all(&noise).is_ok()
            }
            2 => self.peer.try_say_plain(&[2, 0, 0, 0, 99, 99]),
            // A frame that ends too soon.
            3 => {
                let _ = self.peer.stream.write_all(&[0, 200, 1, 2, 3]);
                false
            }
            4 => {
                let (token, held) = (self.token, self.some_blocks());
                self.say(&WorkerMessage::Resume(Resume { token, held }))
            }
            _ => false,
        }
    }

    fn released(&mut self) -> WorkerMessage {
        let mut results: Vec<BlockResult> = (0..self.dice.roll(4))
            .map(|_| BlockResult {
                block: self.some_block(),
                started: self.odd_time(),
                ended: self.odd_time(),
                outcome: self.some_outcome(),
            })
            .collect();
        if self.dice.one_in(2) {
            results.extend(results.clone());
        }
        let results = ResultList(results);
        WorkerMessage::Released { results }
    }

    fn some_outcome(&mut self) -> Outcome {
        let odd = [f64::NAN, f64::INFINITY, -1e300, 0.0][self.dice.roll(4) as usize];
        match self.dice.roll(8) {
            0..=3 => Outcome::Done,
            4 => Outcome::Measured(Stats {
                wall_seconds: odd,
                cpu_seconds: -odd,
                peak_rss_bytes: u64::MAX,
                io_read_bytes: u64::MAX,
                io_write_bytes: 0,
            }),
            5 | 6 => Outcome::Failed(Box::default()),
            _ => Outcome::TimedOut,
        }
    }

    /// One that it was given once, or that others have, or that there isn't.
    fn some_block(&mut self) -> u64 {
        let own: Vec<u64> = self.visit.granted.iter().copied().collect();
        match self.dice.roll(6) {
            0 | 1 if !own.is_empty() => own[self.dice.roll(own.len() as u64) as usize],
            0 => u64::MAX,
            1 => self.blocks + self.dice.roll(1000),
            _ => self.dice.roll(self.blocks),
        }
    }

    fn some_blocks(&mut self) -> BlockList {
        BlockList((0..self.dice.roll(5)).map(|_| self.some_block()).collect())
    }

    fn odd_time(&mut self) -> u64 {
        match self.dice.roll(4) {
            0 => 0,
            1 => u64::MAX - self.dice.roll(3),
            2 => self.dice.roll(u64::MAX),
            _ => self.dice.roll(1_000_000_000),
        }
    }

    fn say(&mut self, message: &WorkerMessage) -> bool {
        self.peer.try_say(message)
    }
}
