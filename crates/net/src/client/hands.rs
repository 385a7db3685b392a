//! What a worker has in its hands: blocks that wait, blocks that run, results to be sent. No I/O and
//! no clock, so that every rule about them can be tested alone.

use std::collections::VecDeque;
use std::sync::Arc;

use super::end::End;
use super::measure::{Measurement, Meter};
use crate::codec::{self, MAX_WORKER_FRAME};
use crate::message::{
    BlockList, BlockResult, ErrorReport, Hello, Outcome, ResultList, Resume, ResumeToken,
    ShutdownReason, Stats, TaskSetup, Welcome, WorkerMessage,
};

/// Results are sent at the latest when they have this many bytes of errors.
const BATCH_BYTES: usize = 256 << 10;

/// Results are sent at the latest when the last sending was this many nanoseconds ago.
pub(super) const BATCH_NANOS: u64 = 1_000_000;

/// Longest texts of an error, in bytes. Embedders have shorter bounds; this one keeps frames small
/// whatever they do.
const MAX_TEXT: usize = 64 << 10;

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
    /// Of the first measurement to end.
    stats: Option<Stats>,
}

/// What [`Hands::take`] found.
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

/// A result that was sent and may have been lost.
struct Unacknowledged {
    blocks: Vec<u64>,
    frame: Vec<u8>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Hands {
    queue: VecDeque<Granted>,
    running: Vec<Running>,
    finished: Vec<BlockResult>,
    finished_bytes: usize,
    /// Frames that wait to be sent, in the plain.
    outbox: Vec<u8>,
    /// The first frame of a connection, which goes before everything else.
    introduction: Vec<u8>,
    /// The driver has answered the introduction, so that others may follow.
    welcomed: bool,
    last_sent: u64,
    setup: Option<Arc<TaskSetup>>,
    worker: Option<u32>,
    token: Option<ResumeToken>,
    timeout: u64,
    /// What the driver was told about how many blocks can run at once.
    demand: u32,
    leaving: Option<ShutdownReason>,
    end: Option<End>,
    /// Whether sent results are kept until the driver has acknowledged them.
    keep_sent: bool,
    sent: VecDeque<Unacknowledged>,
    acknowledged: u64,
    meter: Meter,
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

    pub(super) fn has_results(&self) -> bool {
        !self.finished.is_empty()
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.has_results() || !self.outbox.is_empty()
    }

    pub(super) fn is_welcome(&self) -> bool {
        self.welcomed
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
            stats: None,
        };
        if let Some(shared) = self.measured() {
            running.measurements.push(self.meter.start(shared));
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

    /// A running block ended. Gives whether results should be sent now.
    pub(super) fn finish(
        &mut self,
        block: u64,
        result: Result<(), ErrorReport>,
        now: u64,
    ) -> Result<bool, NotInHand> {
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
        self.push_result(block, running.started, now, outcome);
        Ok(self.should_send(now))
    }

    /// A running block goes back without an attempt.
    pub(super) fn give_back(&mut self, block: u64) -> Result<(), NotInHand> {
        let at = self.find(block)?;
        self.running.swap_remove(at);
        self.return_blocks(vec![block]);
        Ok(())
    }

    /// The watchdog saw a block past its deadline. False when it has ended after all.
    pub(super) fn time_out(&mut self, block: u64, now: u64) -> bool {
        let Ok(at) = self.find(block) else {
            return false;
        };
        let running = self.running.swap_remove(at);
        self.push_result(block, running.started, now, Outcome::TimedOut);
        true
    }

    fn push_result(&mut self, block: u64, started: u64, ended: u64, outcome: Outcome) {
        self.finished_bytes += match &outcome {
            Outcome::Failed(error) => {
                64 + error.message.len()
                    + error.stack.as_ref().map_or(0, String::len)
                    + error.details.as_ref().map_or(0, String::len)
            }
            _ => 0,
        };
        self.finished.push(BlockResult {
            block,
            started,
            ended,
            outcome,
        });
    }

    /// Results travel together only while more blocks wait here than have ended, that is, while the
    /// driver's answer can't come too late; and never for long. So a lone block goes at once.
    fn should_send(&self, now: u64) -> bool {
        self.finished.len() >= self.queue.len()
            || now.saturating_sub(self.last_sent) >= BATCH_NANOS
            || self.finished_bytes >= BATCH_BYTES
    }

    /// Frames to be sent, results included, in exchange for an empty buffer.
    pub(super) fn swap_outbox(&mut self, plain: &mut Vec<u8>, now: u64) {
        if !self.welcomed {
            std::mem::swap(&mut self.introduction, plain);
            return;
        }
        self.pack_results();
        self.last_sent = now;
        std::mem::swap(&mut self.outbox, plain);
    }

    fn pack_results(&mut self) {
        if self.finished.is_empty() {
            return;
        }
        let results = std::mem::take(&mut self.finished);
        self.finished_bytes = 0;
        let start = self.outbox.len();
        let message = WorkerMessage::Released {
            results: ResultList(results),
        };
        self.encode(&message);
        let WorkerMessage::Released { results } = message else {
            return;
        };
        let mut results = results.0;
        if self.keep_sent {
            self.sent.push_back(Unacknowledged {
                blocks: results.iter().map(|result| result.block).collect(),
                frame: self.outbox[start..].to_vec(),
            });
        }
        results.clear();
        self.finished = results;
    }

    /// Queues a message behind everything that is to be sent before it.
    pub(super) fn say(&mut self, message: &WorkerMessage) {
        self.pack_results();
        self.encode(message);
    }

    fn encode(&mut self, message: &WorkerMessage) {
        let written = codec::encode(message, MAX_WORKER_FRAME, &mut self.outbox);
        // Batches are cut and texts are capped far below the size of a frame.
        debug_assert_eq!(written, Ok(()));
    }

    /// Blocks that the driver wants run.
    pub(super) fn granted(&mut self, blocks: &[u64], alone: bool) {
        if self.end.is_some() || self.leaving.is_some() {
            // They crossed our way: nobody here will run them.
            self.return_blocks(blocks.to_vec());
            return;
        }
        let blocks = blocks.iter().map(|&block| Granted { block, alone });
        self.queue.extend(blocks);
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

    /// The first message on a new connection; no other is sent before it is answered.
    pub(super) fn introduce(&mut self, hello: impl FnOnce() -> Hello) {
        self.welcomed = false;
        self.pack_results();
        let message = match self.token {
            None => WorkerMessage::Hello(hello()),
            Some(token) => {
                let waiting = self.queue.iter().map(|waiting| waiting.block);
                let running = self.running.iter().map(|running| running.block);
                let sent = self
                    .sent
                    .iter()
                    .flat_map(|sent| sent.blocks.iter().copied());
                WorkerMessage::Resume(Resume {
                    token,
                    held: BlockList(sent.chain(running).chain(waiting).collect()),
                })
            }
        };
        self.introduction.clear();
        let written = codec::encode(&message, MAX_WORKER_FRAME, &mut self.introduction);
        debug_assert_eq!(written, Ok(()));
    }

    /// The driver's answer to the introduction. `keep_sent`: the connection may be lost and resumed.
    ///
    /// False when a new worker wasn't told its task.
    pub(super) fn welcomed(&mut self, welcome: Welcome, keep_sent: bool) -> bool {
        self.worker = Some(welcome.worker);
        self.welcomed = true;
        let resumed = self.token.replace(welcome.token).is_some();
        if let Some(task) = welcome.task {
            self.timeout = task.timeout_millis.saturating_mul(1_000_000);
            self.setup = Some(Arc::new(task));
        }
        if resumed {
            self.pack_results();
            // What had been queued for the old connection is said again or has no meaning any more.
            self.outbox.clear();
            self.acknowledge(welcome.received);
            for sent in &self.sent {
                self.outbox.extend_from_slice(&sent.frame);
            }
            if self.demand > 0 && self.leaving.is_none() {
                self.say(&WorkerMessage::Acquire { n: self.demand });
            }
        }
        self.keep_sent = keep_sent;
        self.setup.is_some()
    }

    /// The driver has received so many `Released` messages of this worker.
    pub(super) fn acknowledge(&mut self, received: u64) {
        while self.acknowledged < received && self.sent.pop_front().is_some() {
            self.acknowledged += 1;
        }
    }

    pub(super) fn can_resume(&self) -> bool {
        self.keep_sent && self.token.is_some() && self.end.is_none()
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

/// Cuts the texts of an error to a length that any frame can carry.
pub(super) fn capped(mut error: ErrorReport) -> ErrorReport {
    const NOTE: &str = " [truncated]";
    let cut = |text: &mut String| {
        if text.len() > MAX_TEXT {
            let mut end = MAX_TEXT - NOTE.len();
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str(NOTE);
        }
    };
    cut(&mut error.name);
    cut(&mut error.message);
    if let Some(stack) = &mut error.stack {
        cut(stack);
    }
    // Half a JSON document is none.
    error.details = error.details.filter(|details| details.len() <= MAX_TEXT);
    error
}
