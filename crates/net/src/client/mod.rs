//! The worker's side of the wire. Two threads of its own keep it alive whatever the embedder's
//! thread does: one reads, one watches the clock. Results are written by whoever finishes a block, so
//! that no thread has to wake up for them.

mod end;
mod hands;
mod measure;
mod outgoing;
mod outlet;
mod session;
mod shared;
mod ticker;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::shared::{lock, Shared};
use crate::message::{ErrorReport, TaskSetup, WorkerMessage};
use crate::notes::SharedWords;
use crate::secret::Secret;

pub use self::end::End;
pub use self::hands::{NotInHand, Take};
pub use self::measure::{Measurement, Meter};
pub use self::ticker::DEADLINE_EXIT_CODE;

/// How to reach a driver, and whom to tell what.
pub struct ClientOptions {
    /// Name or address of the driver.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The run's secret.
    pub secret: Secret,
    /// The driver's machine, from the context.
    pub machine: Option<String>,
    /// The task to work for.
    pub task_id: String,
    /// The worker's number in its context.
    pub worker_id: Option<u32>,
    /// Called, from a thread of the client, when [`Client::take`] would give something else than
    /// [`Take::Empty`] after it gave that, and when the connection is ready. Must not block. May
    /// come for nothing.
    pub on_wake: Box<dyn Fn() + Send + Sync>,
    /// Called once, from a thread of the client, when everything is over and it wasn't this side
    /// that closed. It may end the process.
    pub on_end: Option<OnEnd>,
    /// Called, from a thread of the client, with a block past its deadline and how long it has run,
    /// after the driver was told. `None`: one line on stderr, then the process ends at once with
    /// [`DEADLINE_EXIT_CODE`] and without exit handlers.
    pub on_deadline: Option<OnDeadline>,
    /// Memory that outlives this process, for a driver on this machine that reads it then.
    pub notes: Option<Arc<dyn SharedWords>>,
}

/// What to do when everything is over.
pub type OnEnd = Box<dyn Fn(&End) + Send + Sync>;

/// What to do about a block past its deadline.
pub type OnDeadline = Box<dyn Fn(u64, Duration) + Send + Sync>;

/// A worker's connection to its driver.
///
/// All methods may be called from any thread; none waits for the network except where it says so.
pub struct Client {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Client {
    /// Starts connecting; comes back at once. See [`wait_connected`](Client::wait_connected).
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn connect(options: ClientOptions) -> io::Result<Client> {
        Client::start(options, false)
    }

    /// As [`connect`](Client::connect), to a driver on this machine that is treated as one on
    /// another. For tests.
    #[doc(hidden)]
    pub fn connect_as_remote(options: ClientOptions) -> io::Result<Client> {
        Client::start(options, true)
    }

    fn start(options: ClientOptions, as_remote: bool) -> io::Result<Client> {
        let shared = Arc::new(Shared::new(options, as_remote));
        let reader = {
            let shared = Arc::clone(&shared);
            thread("bellis-reader")?.spawn(move || session::run(&shared))?
        };
        let ticker = {
            let shared = Arc::clone(&shared);
            thread("bellis-clock")?.spawn(move || ticker::run(&shared))?
        };
        Ok(Client {
            shared,
            threads: Mutex::new(vec![reader, ticker]),
        })
    }

    /// Waits for the driver's welcome: the task, or how it all ended before it began. `None` when
    /// neither came in time.
    pub fn wait_connected(&self, most: Duration) -> Option<Result<Arc<TaskSetup>, End>> {
        let end = Instant::now().checked_add(most);
        let mut hands = self.shared.hands();
        loop {
            if let Some(setup) = hands.setup() {
                return Some(Ok(Arc::clone(setup)));
            }
            if let Some(end) = hands.end() {
                return Some(Err(end));
            }
            hands = self.shared.wait(hands, end)?;
        }
    }

    /// The task, once the driver has told it.
    pub fn setup(&self) -> Option<Arc<TaskSetup>> {
        self.shared.hands().setup().cloned()
    }

    /// The number of this worker, once the driver has told it.
    pub fn worker_id(&self) -> Option<u32> {
        self.shared.hands().worker()
    }

    /// The next block, if one waits here. It runs from this moment on: its deadline counts, and so
    /// do its measurements, for which this has to be called on the thread that does the work.
    pub fn take(&self) -> Take {
        self.shared.take(&mut self.shared.hands())
    }

    /// As [`take`](Client::take), but waits for a block (or the end) for at most this long.
    pub fn take_timeout(&self, most: Duration) -> Take {
        let end = Instant::now().checked_add(most);
        let mut hands = self.shared.hands();
        loop {
            let take = self.shared.take(&mut hands);
            if take != Take::Empty {
                return take;
            }
            match self.shared.wait(hands, end) {
                Some(held) => hands = held,
                None => return Take::Empty,
            }
        }
    }

    /// A block that [`take`](Client::take) gave has ended.
    ///
    /// # Errors
    /// It wasn't given, or has ended already.
    pub fn finish(&self, block: u64, result: Result<(), ErrorReport>) -> Result<(), NotInHand> {
        let (send, now, pause_ends) = {
            let mut hands = self.shared.hands();
            let (send, now) = hands.finish(block, result, || self.shared.now())?;
            (send, now, hands.pause_ends())
        };
        if send {
            self.shared.flush();
            if let Some(time) = pause_ends {
                self.shared.clock.wake_before(time);
            }
        } else {
            self.shared
                .clock
                .wake_before(now + outgoing::BATCH_NANOS * 2);
        }
        Ok(())
    }

    /// A block that [`take`](Client::take) gave goes back as if it had never been started.
    ///
    /// # Errors
    /// It wasn't given, or has ended already.
    pub fn give_back(&self, block: u64) -> Result<(), NotInHand> {
        self.shared.hands().give_back(block)?;
        self.shared.flush();
        Ok(())
    }

    /// A narrower measurement of a running block begins. Without resource tracking nothing happens.
    ///
    /// # Errors
    /// The block isn't in hand.
    pub fn profile_start(&self, block: u64) -> Result<(), NotInHand> {
        self.shared.hands().profile_start(block)
    }

    /// The innermost measurement of a running block ends; the first to end is the one that counts.
    ///
    /// # Errors
    /// The block isn't in hand.
    pub fn profile_end(&self, block: u64) -> Result<(), NotInHand> {
        self.shared.hands().profile_end(block)
    }

    /// This worker can't work at all. `fatal`: and no other one could, so the run should end.
    pub fn unusable(&self, fatal: bool, error: ErrorReport) {
        let error = outgoing::capped(error);
        let message = WorkerMessage::Unusable { fatal, error };
        self.shared.hands().out().say(&message);
        self.shared.flush();
    }

    /// The process is about to end with this code, of its own accord: the driver is told, with the
    /// blocks that run just now.
    pub fn exiting(&self, code: i32) {
        self.shared.hands().exiting(code);
        self.shared.flush();
    }

    /// Waits until everything that was said is in the system's hands. False when that took too long
    /// or there is nobody to say it to.
    pub fn flush(&self, most: Duration) -> bool {
        let end = Instant::now().checked_add(most);
        loop {
            self.shared.flush();
            let hands = self.shared.hands();
            if !hands.has_unsent() && self.shared.outlet.is_idle() {
                return true;
            }
            if !self.shared.outlet.is_open() && hands.is_over() {
                return false;
            }
            // Who sends doesn't hold the lock that `wait` lets go, so its signal may be missed.
            drop(self.shared.wait(hands, Some(soon(end))));
            if end.is_some_and(|end| Instant::now() >= end) {
                return false;
            }
        }
    }

    /// How it ended, or is going to: a driver that sends its worker home says so here while blocks
    /// still run.
    pub fn end(&self) -> Option<End> {
        self.shared.hands().end()
    }

    /// Whether there is a driver on the other side.
    pub fn is_connected(&self) -> bool {
        let hands = self.shared.hands();
        hands.is_welcome() && !hands.is_over()
    }

    /// Whether the connection sends small messages at once. For tests.
    #[doc(hidden)]
    pub fn has_no_delay(&self) -> bool {
        self.shared.outlet.has_no_delay()
    }

    /// Blocks here, running and waiting.
    pub fn in_hand(&self) -> usize {
        self.shared.hands().in_hand()
    }

    /// Gives back what wasn't started, says goodbye and hangs up; doesn't wait for the other side. A
    /// block that still runs counts as lost.
    pub fn close_now(&self) {
        self.shared.hands().close();
        self.flush(Duration::from_secs(1));
        self.shared.outlet.shut_write();
        self.shared.clock.stop();
        self.shared.changed.notify_all();
    }

    /// As [`close_now`](Client::close_now), and waits (two seconds at most) until the other side has
    /// heard everything and the threads are over.
    pub fn close(&self) {
        self.close_now();
        let end = Instant::now() + Duration::from_secs(2);
        let is_finished = || self.shared.finished.load(Ordering::SeqCst);
        while !is_finished() && Instant::now() < end {
            let hands = self.shared.hands();
            drop(self.shared.wait(hands, Some(soon(Some(end)))));
        }
        self.shared.outlet.close();
        let threads = {
            let mut threads = lock(&self.threads);
            std::mem::take(&mut *threads)
        };
        for thread in threads {
            // One that is still on its way to the driver can't be hurried; it ends by itself.
            if is_finished() {
                // A thread that panicked has nothing left to say.
                let _ = thread.join();
            }
        }
    }
}

/// The next look at something that gives no reliable sign.
fn soon(end: Option<Instant>) -> Instant {
    let soon = Instant::now() + Duration::from_millis(10);
    end.map_or(soon, |end| end.min(soon))
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close_now();
    }
}

fn thread(name: &str) -> io::Result<std::thread::Builder> {
    Ok(std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 << 10))
}
