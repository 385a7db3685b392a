//! The clock thread of a client: heartbeats, silence of the driver, deadlines of blocks, results that
//! would otherwise wait too long.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::outgoing::BATCH_NANOS;
use super::shared::{lock, Shared};

/// The exit code of a worker that its own watchdog ended.
pub const DEADLINE_EXIT_CODE: i32 = 87;

const HEARTBEAT: u64 = 1_000_000_000;
const SILENCE: u64 = 5_000_000_000;

/// A clock that is late by this much was stopped (or its machine was): what it missed in that time
/// is no sign of anything.
const STOPPED: u64 = 1_000_000_000;

/// After results had to be sent by the clock, it stays awake for this long, so that not every block
/// has to wake it.
const ALERT_NANOS: u64 = 20_000_000;

/// How long the last words before the end of the process may take.
const LAST_WORDS: Duration = Duration::from_millis(300);

const AWAKE: u64 = u64::MAX;
const CALLED: u64 = 0;

/// When the clock thread wakes, and how to make it wake earlier.
#[derive(Default)]
pub(super) struct Clock {
    /// When it looks next, in nanoseconds of the client: [`AWAKE`] while it is looking, [`CALLED`]
    /// when somebody wants it to look at once.
    wakes_at: AtomicU64,
    beat_now: AtomicBool,
    stopped: Mutex<bool>,
    signal: Condvar,
}

impl Clock {
    /// The clock should look at this time at the latest. Cheap when it does so anyway.
    pub(super) fn wake_before(&self, time: u64) {
        if self.wakes_at.load(Ordering::SeqCst) > time {
            self.wakes_at.store(CALLED, Ordering::SeqCst);
            drop(lock(&self.stopped));
            self.signal.notify_one();
        }
    }

    /// A heartbeat is due now.
    pub(super) fn beat_now(&self) {
        self.beat_now.store(true, Ordering::SeqCst);
        self.wake_before(0);
    }

    pub(super) fn stop(&self) {
        *lock(&self.stopped) = true;
        self.signal.notify_one();
    }
}

/// The last round trips of heartbeats, the shortest of which says most about the way.
#[derive(Default)]
pub(super) struct RoundTrips(VecDeque<u64>);

impl RoundTrips {
    pub(super) fn add(&mut self, nanos: u64) {
        if self.0.len() == 16 {
            self.0.pop_front();
        }
        self.0.push_back(nanos);
    }

    fn shortest(&self) -> Option<u64> {
        self.0.iter().copied().min()
    }
}

/// Everything the thread does.
pub(super) fn run(shared: &Shared) {
    let mut next_beat = 0;
    let mut alert_until = 0;
    let mut planned = shared.now();
    loop {
        let now = shared.now();
        if now.saturating_sub(planned) > STOPPED {
            shared.heard.fetch_max(now, Ordering::SeqCst);
        }
        let asked = shared.clock.beat_now.swap(false, Ordering::SeqCst);
        if now >= next_beat || asked {
            next_beat = now + HEARTBEAT;
            beat(shared, now);
        }
        let (deadline, unsent) = look(shared, now);
        if unsent {
            alert_until = now + ALERT_NANOS;
            shared.flush();
        }
        let mut next = next_beat.min(deadline);
        if now < alert_until {
            next = next.min(now + BATCH_NANOS);
        }
        planned = next;
        if !sleep(shared, next) {
            return;
        }
    }
}

/// Sleeps until a time or a call; false when the thread should end.
fn sleep(shared: &Shared, until: u64) -> bool {
    let clock = &shared.clock;
    let until = until.clamp(CALLED + 1, AWAKE - 1);
    let mut stopped = lock(&clock.stopped);
    let mut called = clock.wakes_at.swap(until, Ordering::SeqCst) == CALLED;
    loop {
        if *stopped {
            return false;
        }
        let now = shared.now();
        called |= clock.wakes_at.load(Ordering::SeqCst) != until;
        if called || now >= until {
            clock.wakes_at.store(AWAKE, Ordering::SeqCst);
            return true;
        }
        let waited = clock
            .signal
            .wait_timeout(stopped, Duration::from_nanos(until - now));
        stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The next deadline, and whether something waits to be sent.
fn look(shared: &Shared, now: u64) -> (u64, bool) {
    let (overdue, next, unsent) = {
        let mut hands = shared.hands();
        if hands.pause_ends().is_some_and(|time| time <= now) {
            hands.pause();
        }
        let overdue = hands
            .running()
            .iter()
            .find(|running| running.deadline <= now)
            .map(|running| (running.block, now.saturating_sub(running.started)));
        let next = hands.running().iter().map(|running| running.deadline).min();
        let next = [next, hands.pause_ends()].into_iter().flatten().min();
        let unsent = hands.is_welcome() && hands.has_unsent();
        (overdue, next.unwrap_or(u64::MAX), unsent)
    };
    if let Some((block, age)) = overdue {
        on_deadline(shared, block, Duration::from_nanos(age), now);
    }
    (next.max(now + BATCH_NANOS), unsent)
}

fn beat(shared: &Shared, now: u64) {
    let silence = now.saturating_sub(shared.heard.load(Ordering::SeqCst));
    if silence >= SILENCE && shared.outlet.is_open() {
        shared.silent.store(true, Ordering::SeqCst);
        shared.outlet.close();
        return;
    }
    {
        let mut hands = shared.hands();
        if !hands.is_welcome() || hands.is_over() {
            return;
        }
        let round_trip = lock(&shared.round_trips).shortest();
        hands.heartbeat(now, round_trip);
    }
    shared.flush();
}

fn on_deadline(shared: &Shared, block: u64, age: Duration, now: u64) {
    if !shared.hands().time_out(block, now) {
        return;
    }
    match &shared.options.on_deadline {
        Some(on_deadline) => {
            shared.flush();
            on_deadline(block, age);
        }
        None => die(shared, block, age),
    }
}

/// Tells whom it concerns, without waiting for anybody who is stuck, and ends the process.
fn die(shared: &Shared, block: u64, age: Duration) {
    let task = &shared.options.task_id;
    let line = format!(
        "bellis: block at grid index {block} of task {task} has been running for {:.1} s, longer \
         than its timeout; the worker ends\n",
        age.as_secs_f64()
    );
    std::thread::scope(|scope| {
        let (done, both) = std::sync::mpsc::channel();
        let telling = done.clone();
        scope.spawn(move || {
            shared.flush();
            let _ = telling.send(());
        });
        scope.spawn(move || {
            use std::io::Write;
            let _ = std::io::stderr().write_all(line.as_bytes());
            let _ = done.send(());
        });
        for _ in 0..2 {
            let _ = both.recv_timeout(LAST_WORDS);
        }
        signal_hook::low_level::exit(DEADLINE_EXIT_CODE);
    });
}
