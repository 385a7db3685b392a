//! What a worker has to say: results that wait for company, frames that wait to be sent, and what was
//! sent and may have been lost. No I/O.

use std::collections::VecDeque;

use crate::codec::{self, MAX_WORKER_FRAME};
use crate::message::{BlockResult, ErrorReport, Outcome, ResultList, WorkerMessage};

/// Results are sent at the latest when they have this many bytes of errors.
const BATCH_BYTES: usize = 256 << 10;

/// Results are sent at the latest when the last sending was this many nanoseconds ago.
pub(super) const BATCH_NANOS: u64 = 1_000_000;

/// Longest texts of an error, in bytes. Embedders have shorter bounds; this one keeps frames small
/// whatever they do.
const MAX_TEXT: usize = 64 << 10;

/// A result message that was sent and may have been lost.
struct Unacknowledged {
    blocks: Vec<u64>,
    frame: Vec<u8>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Outgoing {
    finished: Vec<BlockResult>,
    finished_bytes: usize,
    /// Frames that wait to be sent, in the plain.
    outbox: Vec<u8>,
    /// The first frame of a connection, which goes before everything else.
    introduction: Vec<u8>,
    /// The driver has answered the introduction, so that others may follow.
    welcomed: bool,
    last_sent: u64,
    /// Whether sent results are kept until the driver has acknowledged them.
    keep_sent: bool,
    sent: VecDeque<Unacknowledged>,
    acknowledged: u64,
}

impl Outgoing {
    pub(super) fn is_welcome(&self) -> bool {
        self.welcomed
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.finished.is_empty() || !self.outbox.is_empty()
    }

    /// A block has ended.
    pub(super) fn add(&mut self, result: BlockResult) {
        if let Outcome::Failed(error) = &result.outcome {
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            self.finished_bytes +=
                64 + error.message.len() + length(&error.stack) + length(&error.details);
        }
        self.finished.push(result);
    }

    /// Results travel together only while more blocks wait here than have ended, that is, while the
    /// driver's answer can't come too late; and never for long. So a lone block goes at once.
    pub(super) fn should_send(&self, waiting: usize, now: u64) -> bool {
        self.finished.len() >= waiting
            || now.saturating_sub(self.last_sent) >= BATCH_NANOS
            || self.finished_bytes >= BATCH_BYTES
    }

    /// Queues a message behind everything that is to be sent before it.
    pub(super) fn say(&mut self, message: &WorkerMessage) {
        self.pack_results();
        encode(message, &mut self.outbox);
    }

    /// Frames to be sent, results included, in exchange for an empty buffer.
    pub(super) fn swap(&mut self, plain: &mut Vec<u8>, now: u64) {
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
        let start = self.outbox.len();
        let message = WorkerMessage::Released {
            results: ResultList(std::mem::take(&mut self.finished)),
        };
        encode(&message, &mut self.outbox);
        self.finished_bytes = 0;
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

    /// The first message on a new connection; no other is sent before it is answered.
    pub(super) fn introduce(&mut self, message: &WorkerMessage) {
        self.welcomed = false;
        self.introduction.clear();
        encode(message, &mut self.introduction);
    }

    /// Blocks whose results were sent, or wait to be, and aren't acknowledged.
    pub(super) fn unacknowledged(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.pack_results();
        self.sent
            .iter()
            .flat_map(|sent| sent.blocks.iter().copied())
    }

    /// The driver has answered the introduction of a new worker. `keep_sent`: the connection may be
    /// lost and resumed.
    pub(super) fn welcome(&mut self, keep_sent: bool) {
        self.welcomed = true;
        self.keep_sent = keep_sent;
    }

    /// The driver has answered the introduction of a worker that came back. What had been queued for
    /// the old connection is said again or has no meaning any more.
    pub(super) fn welcome_back(&mut self, received: u64) {
        self.pack_results();
        self.welcomed = true;
        self.outbox.clear();
        self.acknowledge(received);
        for sent in &self.sent {
            self.outbox.extend_from_slice(&sent.frame);
        }
    }

    /// The driver has received so many `Released` messages of this worker.
    pub(super) fn acknowledge(&mut self, received: u64) {
        while self.acknowledged < received && self.sent.pop_front().is_some() {
            self.acknowledged += 1;
        }
    }

    pub(super) fn keeps_sent(&self) -> bool {
        self.keep_sent
    }
}

fn encode(message: &WorkerMessage, plain: &mut Vec<u8>) {
    let written = codec::encode(message, MAX_WORKER_FRAME, plain);
    // Batches are cut and texts are capped far below the size of a frame.
    debug_assert_eq!(written, Ok(()));
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
