//! What a worker of this machine writes down while it works, in memory that outlives its process:
//! results that the driver may not have, and which blocks run. A process that dies takes along what
//! it hadn't sent; with this its driver knows which block it died of, and nothing runs twice.
//!
//! Layout, in words of 64 bits: 0 the layout's name; 1 and 2 the token of the connection that writes,
//! the first one 0 while nobody does (what was written stays until somebody does); 3 the number of
//! results so far; 4 how many blocks run beyond the slots; from 8 on, [`SLOTS`] pairs of a running
//! block plus one and its start; from [`RING`] on, the last [`RESULTS`] results of 8 words each.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::message::{BlockResult, ErrorReport, Outcome, ResumeToken, Stats};

/// Number of words that a worker's notes take.
pub const NOTE_WORDS: usize = RING + RESULTS * RESULT_WORDS;

const LAYOUT: u64 = 0x6265_6c6c_6973_0001;
const NAME: usize = 0;
const OWNER: usize = 1;
const OWNER_REST: usize = 2;
const COUNT: usize = 3;
const BEYOND: usize = 4;
const FIRST_SLOT: usize = 8;
const SLOTS: usize = 60;
const RING: usize = FIRST_SLOT + 2 * SLOTS;
const RESULT_WORDS: usize = 8;

/// More than a driver grants in advance, so that all it may not have heard of is there.
const RESULTS: usize = 2048;

const DONE: u64 = 0;
const MEASURED: u64 = 1;
const FAILED: u64 = 2;
const TIMED_OUT: u64 = 3;

/// Words that two processes share; all zero at first.
pub trait SharedWords: Send + Sync {
    /// At least [`NOTE_WORDS`] of them, or they aren't used.
    fn words(&self) -> &[AtomicU64];
}

impl SharedWords for Vec<AtomicU64> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

fn usable(words: &dyn SharedWords) -> Option<&[AtomicU64]> {
    let words = words.words();
    (words.len() >= NOTE_WORDS).then_some(words)
}

fn owner(token: &ResumeToken) -> (u64, u64) {
    let mut halves = token.0.chunks_exact(8).map(|half| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(half);
        u64::from_le_bytes(bytes)
    });
    // 0 means nobody.
    let first = halves.next().unwrap_or_default().max(1);
    (first, halves.next().unwrap_or_default())
}

/// The worker's hold on its notes.
pub(crate) struct Notebook {
    words: std::sync::Arc<dyn SharedWords>,
    count: u64,
    used: u64,
}

/// Where a running block stands; none when it's beyond the slots.
pub(crate) type Slot = Option<u8>;

impl Notebook {
    /// Takes the notes for the connection with this token; `None` while another one has them, as when
    /// a worker starts processes that share its context.
    pub(crate) fn claim(
        shared: &std::sync::Arc<dyn SharedWords>,
        token: &ResumeToken,
    ) -> Option<Notebook> {
        let words = usable(&**shared)?;
        let (first, rest) = owner(token);
        words[OWNER]
            .compare_exchange(0, first, Ordering::SeqCst, Ordering::SeqCst)
            .ok()?;
        for word in &words[COUNT..RING] {
            word.store(0, Ordering::Relaxed);
        }
        words[OWNER_REST].store(rest, Ordering::Relaxed);
        words[NAME].store(LAYOUT, Ordering::Release);
        Some(Notebook {
            words: std::sync::Arc::clone(shared),
            count: 0,
            used: 0,
        })
    }

    /// A block begins.
    pub(crate) fn began(&mut self, block: u64, started: u64) -> Slot {
        let words = self.words.words();
        let free = self.used.trailing_ones() as usize;
        if free >= SLOTS {
            words[BEYOND].fetch_add(1, Ordering::Release);
            return None;
        }
        self.used |= 1 << free;
        let at = FIRST_SLOT + 2 * free;
        words[at + 1].store(started, Ordering::Relaxed);
        words[at].store(block.wrapping_add(1), Ordering::Release);
        Some(free as u8)
    }

    /// A block that began runs no more.
    pub(crate) fn left(&mut self, slot: Slot) {
        let words = self.words.words();
        match slot {
            Some(slot) => {
                self.used &= !(1 << slot);
                words[FIRST_SLOT + 2 * usize::from(slot)].store(0, Ordering::Release);
            }
            None => {
                words[BEYOND].fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// A block's result is known.
    pub(crate) fn ended(&mut self, result: &BlockResult) {
        let words = self.words.words();
        let at = RING + (self.count as usize % RESULTS) * RESULT_WORDS;
        let entry = &words[at..at + RESULT_WORDS];
        let kind = match &result.outcome {
            Outcome::Done => DONE,
            Outcome::Failed(_) => FAILED,
            Outcome::TimedOut => TIMED_OUT,
            Outcome::Measured(stats) => {
                entry[3].store(stats.wall_seconds.to_bits(), Ordering::Relaxed);
                entry[4].store(stats.cpu_seconds.to_bits(), Ordering::Relaxed);
                entry[5].store(stats.peak_rss_bytes, Ordering::Relaxed);
                entry[6].store(stats.io_read_bytes, Ordering::Relaxed);
                entry[7].store(stats.io_write_bytes, Ordering::Relaxed);
                MEASURED
            }
        };
        entry[0].store(result.block, Ordering::Relaxed);
        entry[1].store(result.started, Ordering::Relaxed);
        // The kind shares a word with the time: no block runs for a hundred years.
        entry[2].store(result.ended << 2 | kind, Ordering::Relaxed);
        self.count += 1;
        words[COUNT].store(self.count, Ordering::Release);
    }
}

impl Drop for Notebook {
    fn drop(&mut self) {
        // With blocks that still run, what is written here may be the last that anybody hears.
        if self.used == 0 {
            self.words.words()[OWNER].store(0, Ordering::SeqCst);
        }
    }
}

/// What a worker left behind.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LastWords {
    /// Results that the driver hasn't got, in order.
    pub(crate) results: Vec<BlockResult>,
    /// What ran at the end; none when that isn't known of all blocks.
    pub(crate) running: Option<Vec<u64>>,
}

/// Reads what the connection with this token left behind, of which the driver has got so many
/// results. `None` when it wrote nothing.
///
/// The worker is trusted as far as it would be with the same words in a message.
pub(crate) fn last_words(
    shared: &dyn SharedWords,
    token: &ResumeToken,
    received: u64,
) -> Option<LastWords> {
    let words = usable(shared)?;
    let read = |at: usize| words[at].load(Ordering::Acquire);
    let (first, rest) = owner(token);
    let theirs = [first, 0].contains(&read(OWNER)) && read(OWNER_REST) == rest;
    if read(NAME) != LAYOUT || !theirs {
        return None;
    }
    let count = read(COUNT);
    let missing = count.checked_sub(received)?;
    if missing > RESULTS as u64 {
        return None;
    }
    let results: Vec<BlockResult> = (received..count)
        .map(|number| {
            let at = RING + (number as usize % RESULTS) * RESULT_WORDS;
            result(&words[at..at + RESULT_WORDS])
        })
        .collect();
    let running = (0..SLOTS)
        .filter_map(|slot| read(FIRST_SLOT + 2 * slot).checked_sub(1))
        // It died between writing down the result and crossing out the block.
        .filter(|block| !results.iter().any(|result| result.block == *block))
        .collect();
    Some(LastWords {
        running: (read(BEYOND) == 0).then_some(running),
        results,
    })
}

fn result(entry: &[AtomicU64]) -> BlockResult {
    let read = |at: usize| entry[at].load(Ordering::Acquire);
    let (ended, kind) = (read(2) >> 2, read(2) & 3);
    BlockResult {
        block: read(0),
        started: read(1),
        ended,
        outcome: match kind {
            DONE => Outcome::Done,
            MEASURED => Outcome::Measured(Stats {
                wall_seconds: f64::from_bits(read(3)),
                cpu_seconds: f64::from_bits(read(4)),
                peak_rss_bytes: read(5),
                io_read_bytes: read(6),
                io_write_bytes: read(7),
            }),
            TIMED_OUT => Outcome::TimedOut,
            _ => Outcome::Failed(Box::new(ErrorReport {
                name: "Error".into(),
                message: "the block threw, and its worker died before it could say what".into(),
                ..ErrorReport::default()
            })),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const TOKEN: ResumeToken = ResumeToken([7; 16]);

    fn page() -> Arc<dyn SharedWords> {
        Arc::new(
            (0..NOTE_WORDS)
                .map(|_| AtomicU64::new(0))
                .collect::<Vec<_>>(),
        )
    }

    fn done(block: u64) -> BlockResult {
        BlockResult {
            block,
            started: 10 * block,
            ended: 10 * block + 5,
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn what_the_driver_has_not_got_and_what_runs_are_there() {
        let page = page();
        let mut notes = Notebook::claim(&page, &TOKEN).unwrap();
        for block in 0..5000 {
            let slot = notes.began(block, 10 * block);
            notes.ended(&done(block));
            notes.left(slot);
        }
        notes.began(9000, 1);
        std::mem::forget(notes);
        let words = last_words(&*page, &TOKEN, 4998).unwrap();
        assert_eq!(words.results, [done(4998), done(4999)]);
        assert_eq!(words.running, Some(vec![9000]));
        // more than there is room for, or more than there were
        assert_eq!(last_words(&*page, &TOKEN, 5000 - RESULTS as u64 - 1), None);
        assert_eq!(last_words(&*page, &TOKEN, 5001), None);
    }

    #[test]
    fn every_kind_of_result_survives() {
        let page = page();
        let mut notes = Notebook::claim(&page, &TOKEN).unwrap();
        let stats = Stats {
            wall_seconds: 0.5,
            cpu_seconds: 0.25,
            peak_rss_bytes: 1,
            io_read_bytes: 2,
            io_write_bytes: 3,
        };
        let outcomes = [
            Outcome::Measured(stats),
            Outcome::TimedOut,
            Outcome::Failed(Box::default()),
        ];
        for outcome in outcomes.clone() {
            notes.ended(&BlockResult { outcome, ..done(1) });
        }
        std::mem::forget(notes);
        let words = last_words(&*page, &TOKEN, 0).unwrap();
        assert_eq!(words.results[0].outcome, outcomes[0]);
        assert_eq!(words.results[1].outcome, outcomes[1]);
        assert!(matches!(&words.results[2].outcome, Outcome::Failed(_)));
    }

    #[test]
    fn a_death_between_result_and_end_counts_the_block_once() {
        let page = page();
        let mut notes = Notebook::claim(&page, &TOKEN).unwrap();
        notes.began(4, 40);
        notes.ended(&done(4));
        std::mem::forget(notes);
        let words = last_words(&*page, &TOKEN, 0).unwrap();
        assert_eq!(words.results, [done(4)]);
        assert_eq!(words.running, Some(vec![]));
    }

    #[test]
    fn more_running_blocks_than_slots_are_not_guessed_at() {
        let page = page();
        let mut notes = Notebook::claim(&page, &TOKEN).unwrap();
        let slots: Vec<Slot> = (0..SLOTS as u64 + 1)
            .map(|block| notes.began(block, 0))
            .collect();
        let of = |page: &Arc<dyn SharedWords>| last_words(&**page, &TOKEN, 0).unwrap().running;
        assert_eq!(of(&page), None);
        notes.left(slots[SLOTS]);
        assert_eq!(of(&page).unwrap().len(), SLOTS);
        notes.left(slots[3]);
        assert_eq!(notes.began(99, 0), Some(3));
    }

    #[test]
    fn notes_belong_to_one_connection_at_a_time() {
        let page = page();
        let mut first = Notebook::claim(&page, &TOKEN).unwrap();
        let slot = first.began(1, 1);
        first.left(slot);
        let other = ResumeToken([8; 16]);
        assert!(Notebook::claim(&page, &other).is_none());
        assert_eq!(last_words(&*page, &other, 0), None);
        drop(first);
        // Closed, and readable until somebody else begins.
        assert!(last_words(&*page, &TOKEN, 0).is_some());
        let second = Notebook::claim(&page, &other);
        assert!(second.is_some());
        assert!(last_words(&*page, &other, 0).is_some());
        assert_eq!(last_words(&*page, &TOKEN, 0), None);
    }

    #[test]
    fn words_of_somebody_else_are_no_notes() {
        let garbage: Vec<AtomicU64> = (0..NOTE_WORDS).map(|_| AtomicU64::new(u64::MAX)).collect();
        assert_eq!(last_words(&garbage, &TOKEN, 0), None);
        let short: Arc<dyn SharedWords> = Arc::new(Vec::<AtomicU64>::new());
        assert!(Notebook::claim(&short, &TOKEN).is_none());
        assert_eq!(last_words(&*short, &TOKEN, 0), None);
    }
}
