//! What the threads of a client share.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::hands::{Hands, Take};
use super::outlet::Outlet;
use super::{ticker, ClientOptions, End};
use crate::noise::Sealer;

pub(super) struct Shared {
    pub(super) options: ClientOptions,
    /// The driver counts as one on another machine, wherever it is.
    pub(super) as_remote: bool,
    pub(super) epoch: Instant,
    pub(super) hands: Mutex<Hands>,
    /// Something changed that a waiting call may be waiting for.
    pub(super) changed: Condvar,
    pub(super) outlet: Outlet,
    /// Calls that wait for `changed` just now.
    pub(super) waiting: AtomicUsize,
    /// The reading thread has nothing more to do.
    pub(super) finished: AtomicBool,
    /// The connection was given up because the driver was silent.
    pub(super) silent: AtomicBool,
    /// A `take` came back empty, so that somebody waits for a wake-up.
    pub(super) wanted: AtomicBool,
    /// When the driver was last heard, in nanoseconds since `epoch`.
    pub(super) heard: AtomicU64,
    pub(super) round_trips: Mutex<ticker::RoundTrips>,
    pub(super) clock: ticker::Clock,
}

impl Shared {
    pub(super) fn new(options: ClientOptions, as_remote: bool) -> Shared {
        Shared {
            options,
            as_remote,
            epoch: Instant::now(),
            hands: Mutex::default(),
            changed: Condvar::new(),
            outlet: Outlet::default(),
            waiting: AtomicUsize::new(0),
            finished: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            wanted: AtomicBool::new(true),
            heard: AtomicU64::new(0),
            round_trips: Mutex::default(),
            clock: ticker::Clock::default(),
        }
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn hands(&self) -> MutexGuard<'_, Hands> {
        lock(&self.hands)
    }

    /// Waits for a change until `end` (for ever without); `None` when it has passed.
    pub(super) fn wait<'a>(
        &self,
        hands: MutexGuard<'a, Hands>,
        end: Option<Instant>,
    ) -> Option<MutexGuard<'a, Hands>> {
        /// Longer waits are cut: some systems can't wait for years.
        const LONGEST: Duration = Duration::from_secs(3600);
        let left = match end {
            None => LONGEST,
            Some(end) => end.checked_duration_since(Instant::now())?,
        };
        if left.is_zero() {
            return None;
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let waited = self.changed.wait_timeout(hands, left.min(LONGEST));
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Some(waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    pub(super) fn take(&self, hands: &mut Hands) -> Take {
        let now = self.now();
        let (take, send) = hands.take(now);
        match take {
            Take::Empty => self.wanted.store(true, Ordering::Release),
            Take::Block(_) => {
                if let Some(running) = hands.running().last() {
                    self.clock.wake_before(running.deadline);
                }
            }
            _ => {}
        }
        if send {
            // Only the first time; everything else is sent by who finishes a block.
            self.clock.wake_before(now);
        }
        take
    }

    /// Sends what waits to be sent. Blocks only while the driver takes nothing in.
    pub(super) fn flush(&self) {
        self.outlet.flush(self);
    }

    /// Tells everybody who waits.
    pub(super) fn wake(&self) {
        self.notify();
        if self.wanted.swap(false, Ordering::AcqRel) {
            (self.options.on_wake)();
        }
    }

    pub(super) fn notify(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.changed.notify_all();
        }
    }

    /// Everything is over.
    pub(super) fn finish_all(&self, end: End) {
        let (end, ours) = {
            let mut hands = self.hands();
            let ours = hands.is_over();
            let end = if hands.is_leaving() {
                hands.end().unwrap_or(end)
            } else {
                end
            };
            hands.finish_all(end.clone());
            (end, ours)
        };
        self.outlet.close();
        self.clock.stop();
        self.finished.store(true, Ordering::SeqCst);
        self.wanted.store(true, Ordering::Release);
        self.wake();
        if let (false, Some(on_end)) = (ours, &self.options.on_end) {
            on_end(&end);
        }
    }

    pub(super) fn connected(&self, stream: TcpStream, sealer: Sealer) {
        self.heard.store(self.now(), Ordering::Release);
        self.outlet.open(stream, sealer);
    }
}

/// A poisoned lock means that a thread panicked between two statements that can't: the state is
/// whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
