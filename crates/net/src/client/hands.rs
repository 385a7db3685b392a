//! What a worker has in its hands: blocks that wait, blocks that run, and what there is to say about
//! them. No I/O and no clock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::end::End;
use super::measure::{Measurement, Meter};
use super::outgoing::{capped, Outgoing};
use crate::message::{
    BlockList, BlockResult, ErrorReport, Hello, Outcome, Resume, ResumeToken, ShutdownReason,
    Stats, TaskSetup, Welcome, WorkerMessage,
};
use crate::notes::{Notebook, SharedWords, Slot};

/// A block that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Granted {
    block: u64,
    alone: bool,
}

/// A block that runs.
pub(super) struct Running {
    pub(super) block: u64,
    pub(super) started: u64,
    pub(super) deadline: u64,
    alone: bool,
    /// Outermost first.
    measurements: Vec<Measurement>,
    /// Where it stands in the notes.
    slot: Slot,
    /// Of the first measurement to end.
    stats: Option<Stats>,
}

/// Who has blocks and runs none for this many nanoseconds does something else: they go back, for
/// others.
pub(super) const PAUSE_NANOS: u64 = 100_000_000;

/// What `Hands::take` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// This block is running now.
    Block(u64),
    /// None is there just now.
    Empty,
    /// There won't be any more: the driver sent the worker home, or the client was closed.
    NoMore,
    /// There won't be any more: the driver is gone or won't have this worker.
    Lost,
}

/// The block isn't running here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {0} isn't in hand")]
pub struct NotInHand(pub u64);

/// See the module.
#[derive(Default)]
pub(super) struct Hands {
    queue: VecDeque<Granted>,
    running: Vec<Running>,
    out: Outgoing,
    setup: Option<Arc<TaskSetup>>,
    worker: Option<u32>,
    token: Option<ResumeToken>,
    timeout: u64,
    /// What the driver was told about how many blocks can run at once.
    demand: u32,
    /// Since when blocks wait here and none runs, where that is so.
    still_since: u64,
    leaving: Option<ShutdownReason>,
    end: Option<End>,
    meter: Meter,
    /// What the driver reads when this process dies.
    notes: Option<Notebook>,
}

impl Hands {
    pub(super) fn setup(&self) -> Option<&Arc<TaskSetup>> {
        self.setup.as_ref()
    }

    pub(super) fn worker(&self) -> Option<u32> {
        self.worker
    }

    pub(super) fn end(&self) -> Option<End> {
        let leaving = self.leaving.map(End::Shutdown);
        self.end.clone().or(leaving)
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    pub(super) fn in_hand(&self) -> usize {
        self.queue.len() + self.running.len()
    }

    pub(super) fn running(&self) -> &[Running] {
        &self.running
    }

    pub(super) fn out(&mut self) -> &mut Outgoing {
        &mut self.out
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.out.has_unsent()
    }

    pub(super) fn is_welcome(&self) -> bool {
        self.out.is_welcome()
    }

    /// The next block, which runs from now on. Second: whether something has to be sent.
    pub(super) fn take(&mut self, now: u64) -> (Take, bool) {
        if let Some(end) = &self.end {
            let take = match end {
                End::Closed | End::Shutdown(_) => Take::NoMore,
                _ => Take::Lost,
            };
            return (take, false);
        }
        if self.leaving.is_some() {
            return (Take::NoMore, false);
        }
        let Some(setup) = &self.setup else {
            return (Take::Empty, false);
        };
        let mut send = false;
        if self.demand == 0 {
            self.demand = setup.concurrency.max(1);
            self.say(&WorkerMessage::Acquire { n: self.demand });
            send = true;
        }
        let free = match self.queue.front() {
            Some(next) if next.alone => self.running.is_empty(),
            Some(_) => !self.running.iter().any(|other| other.alone),
            None => false,
        };
        if !free {
            return (Take::Empty, send);
        }
        let Some(next) = self.queue.pop_front() else {
            return (Take::Empty, send);
        };
        let mut running = Running {
            block: next.block,
            started: now,
            deadline: now.saturating_add(self.timeout),
            alone: next.alone,
            measurements: Vec::new(),
            slot: None,
            stats: None,
        };
        if let Some(shared) = self.measured() {
            running.measurements.push(self.meter.start(shared));
        }
        if let Some(notes) = &mut self.notes {
            running.slot = notes.began(next.block, now);
        }
        self.running.push(running);
        (Take::Block(next.block), send)
    }

    /// Whether blocks are measured, and if so, whether several run at once.
    fn measured(&self) -> Option<bool> {
        let setup = self.setup.as_ref()?;
        setup.resource_tracking.then_some(setup.concurrency > 1)
    }

    fn find(&self, block: u64) -> Result<usize, NotInHand> {
        let position = self.running.iter().position(|other| other.block == block);
        position.ok_or(NotInHand(block))
    }

    /// A narrower measurement of a running block begins.
    pub(super) fn profile_start(&mut self, block: u64) -> Result<(), NotInHand> {
        let at = self.find(block)?;
        if let Some(shared) = self.measured() {
            let measurement = self.meter.start(shared);
            self.running[at].measurements.push(measurement);
        }
        Ok(())
    }

    /// The innermost measurement of a running block ends. The first to end counts.
    pub(super) fn profile_end(&mut self, block: u64) -> Result<(), NotInHand> {
        let at = self.find(block)?;
        let running = &mut self.running[at];
        if running.measurements.len() > 1 {
            if let Some(measurement) = running.measurements.pop() {
                let stats = self.meter.stop(&measurement);
                running.stats.get_or_insert(stats);
            }
        }
        Ok(())
    }

    /// A running block ended. Gives whether results should be sent now, and the time, which is taken
    /// last, so that no measurement is longer than its block.
    pub(super) fn finish(
        &mut self,
        block: u64,
        result: Result<(), ErrorReport>,
        clock: impl FnOnce() -> u64,
    ) -> Result<(bool, u64), NotInHand> {
        let at = self.find(block)?;
        let running = self.running.swap_remove(at);
        let outcome = match result {
            Err(error) => Outcome::Failed(Box::new(capped(error))),
            Ok(()) => {
                let stats = running
                    .stats
                    .or_else(|| Some(self.meter.stop(running.measurements.first()?)));
                stats.map_or(Outcome::Done, Outcome::Measured)
            }
        };
        let failed = matches!(outcome, Outcome::Failed(_));
        let now = clock();
        self.push_result(&running, now, outcome);
        self.still_since = now;
        // An error's text is nowhere but here.
        let send = failed || self.out.should_send(self.queue.len(), now);
        Ok((send, now))
    }

    /// A running block goes back without an attempt.
    pub(super) fn give_back(&mut self, block: u64) -> Result<(), NotInHand> {
        let at = self.find(block)?;
        let running = self.running.swap_remove(at);
        if let Some(notes) = &mut self.notes {
            notes.left(running.slot);
        }
        self.return_blocks(vec![block]);
        Ok(())
    }

    /// The watchdog saw a block past its deadline. False when it has ended after all.
    pub(super) fn time_out(&mut self, block: u64, now: u64) -> bool {
        let Ok(at) = self.find(block) else {
            return false;
        };
        let running = self.running.swap_remove(at);
        self.push_result(&running, now, Outcome::TimedOut);
        self.still_since = now;
        true
    }

    fn push_result(&mut self, running: &Running, ended: u64, outcome: Outcome) {
        let result = BlockResult {
            block: running.block,
            started: running.started,
            ended,
            outcome,
        };
        if let Some(notes) = &mut self.notes {
            notes.ended(&result);
            notes.left(running.slot);
        }
        self.out.add(result);
    }

    fn say(&mut self, message: &WorkerMessage) {
        self.out.say(message);
    }

    /// Blocks that the driver wants run.
    pub(super) fn granted(&mut self, blocks: &[u64], alone: bool, now: u64) {
        if self.end.is_some() || self.leaving.is_some() {
            // They crossed our way: nobody here will run them.
            self.return_blocks(blocks.to_vec());
            return;
        }
        if self.queue.is_empty() {
            self.still_since = self.still_since.max(now);
        }
        let blocks = blocks.iter().map(|&block| Granted { block, alone });
        self.queue.extend(blocks);
    }

    /// When blocks that wait here go back unless one is taken; `None` while none waits or one runs.
    pub(super) fn pause_ends(&self) -> Option<u64> {
        let still = self.running.is_empty() && !self.queue.is_empty();
        still.then(|| self.still_since.saturating_add(PAUSE_NANOS))
    }

    /// Nobody here takes blocks just now: gives back what waits, and asks for no more until somebody
    /// does.
    pub(super) fn pause(&mut self) {
        self.demand = 0;
        self.return_queue();
    }

    /// Takes out of the queue what the driver wants back, and answers.
    pub(super) fn retracted(&mut self, blocks: &mut [u64]) {
        blocks.sort_unstable();
        let mut returned = Vec::new();
        self.queue.retain(|waiting| {
            let wanted = blocks.binary_search(&waiting.block).is_ok();
            if wanted {
                returned.push(waiting.block);
            }
            !wanted
        });
        self.return_blocks(returned);
    }

    fn return_blocks(&mut self, blocks: Vec<u64>) {
        self.say(&WorkerMessage::Returned {
            blocks: BlockList(blocks),
        });
    }

    fn return_queue(&mut self) {
        if !self.queue.is_empty() {
            let blocks = self.queue.drain(..).map(|waiting| waiting.block).collect();
            self.return_blocks(blocks);
        }
    }

    /// The driver sends the worker home.
    pub(super) fn shut_down(&mut self, reason: ShutdownReason) {
        if self.leaving.is_none() {
            self.leaving = Some(reason);
            self.return_queue();
        }
    }

    /// Everything is over; what was to be sent is kept only for a proper end.
    pub(super) fn finish_all(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            self.queue.clear();
        }
    }

    /// This side leaves: gives back what waits, and says goodbye unless something still runs.
    pub(super) fn close(&mut self) {
        if self.end.is_some() {
            return;
        }
        if self.setup.is_some() {
            self.return_queue();
            if self.running.is_empty() {
                self.say(&WorkerMessage::Goodbye);
            }
        }
        self.end = Some(match self.leaving {
            Some(reason) => End::Shutdown(reason),
            None => End::Closed,
        });
    }

    /// The first message on a new connection.
    pub(super) fn introduce(&mut self, hello: impl FnOnce() -> Hello) {
        let message = match self.token {
            None => WorkerMessage::Hello(hello()),
            Some(token) => {
                let waiting = self.queue.iter().map(|waiting| waiting.block);
                let running = self.running.iter().map(|running| running.block);
                let sent = self.out.unacknowledged();
                WorkerMessage::Resume(Resume {
                    token,
                    held: BlockList(sent.chain(running).chain(waiting).collect()),
                })
            }
        };
        self.out.introduce(&message);
    }

    /// The driver's answer to the introduction. `keep_sent`: the connection may be lost and resumed.
    /// `notes`: what a driver on this machine would read.
    ///
    /// False when a new worker wasn't told its task.
    pub(super) fn welcomed(
        &mut self,
        welcome: Welcome,
        keep_sent: bool,
        notes: Option<&Arc<dyn SharedWords>>,
    ) -> bool {
        self.worker = Some(welcome.worker);
        if self.token.is_none() && !keep_sent {
            self.notes = notes.and_then(|words| Notebook::claim(words, &welcome.token));
        }
        if let Some(task) = welcome.task {
            self.timeout = task.timeout_millis.saturating_mul(1_000_000);
            self.setup = Some(Arc::new(task));
        }
        if self.token.replace(welcome.token).is_some() {
            self.out.welcome_back(welcome.received);
            if self.demand > 0 && self.leaving.is_none() {
                self.say(&WorkerMessage::Acquire { n: self.demand });
            }
        } else {
            self.out.welcome(keep_sent);
        }
        self.setup.is_some()
    }

    pub(super) fn can_resume(&self) -> bool {
        self.out.keeps_sent() && self.token.is_some() && self.end.is_none()
    }

    pub(super) fn heartbeat(&mut self, now: u64, round_trip: Option<u64>) {
        let running = &self.running;
        let running = running
            .iter()
            .map(|running| (running.block, now.saturating_sub(running.started)));
        let message = WorkerMessage::Heartbeat {
            sent: now,
            round_trip,
            running: running.collect(),
        };
        self.say(&message);
    }

    /// The process is about to end.
    pub(super) fn exiting(&mut self, code: i32) {
        let running = self.running.iter().map(|running| running.block);
        let running = BlockList(running.collect());
        self.say(&WorkerMessage::Exiting { code, running });
    }
}
