//! Threads that take one step at a time in an order drawn from a seed.
//!
//! Each file operation of a thread is a step: it waits until all the others wait too, and the seed
//! says which goes on. So a race is a list of numbers, and one that fails fails again.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};

#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Threads that still take turns and don't wait for one.
    running: usize,
    waiting: BTreeSet<usize>,
    left: BTreeSet<usize>,
    next: Option<usize>,
    /// Favours the thread that went last, so that the others fall far behind now and then.
    last: Option<usize>,
    random: u64,
}

impl Turns {
    /// For threads numbered from 0 to `threads`, all of which take part from the start.
    pub fn new(threads: usize, seed: u64) -> Self {
        Self {
            state: Mutex::new(State {
                running: threads,
                waiting: BTreeSet::new(),
                left: BTreeSet::new(),
                next: None,
                last: None,
                random: seed,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for the thread's next turn.
    pub fn wait(&self, thread: usize) {
        let mut state = self.state.lock().unwrap();
        if state.left.contains(&thread) {
            return;
        }
        state.waiting.insert(thread);
        state.running -= 1;
        state.choose();
        self.changed.notify_all();
        while state.next != Some(thread) {
            state = self.changed.wait(state).unwrap();
        }
        state.next = None;
        state.last = Some(thread);
        state.waiting.remove(&thread);
        state.running += 1;
    }

    /// The thread takes no more turns.
    pub fn leave(&self, thread: usize) {
        let mut state = self.state.lock().unwrap();
        state.left.insert(thread);
        state.running -= 1;
        state.choose();
        self.changed.notify_all();
    }
}

impl State {
    fn choose(&mut self) {
        if self.running > 0 || self.waiting.is_empty() {
            return;
        }
        let again = self.last.filter(|last| self.waiting.contains(last));
        self.next = match again {
            Some(last) if self.draw(4) > 0 => Some(last),
            _ => {
                let which = self.draw(self.waiting.len());
                self.waiting.iter().nth(which).copied()
            }
        };
    }

    /// A number below `limit` (splitmix64).
    fn draw(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}
