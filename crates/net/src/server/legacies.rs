//! Workers of this machine whose connections ended before their processes: what they write down until
//! then counts.

use std::collections::HashMap;

use bellis_core::run::{ConnectionId, WorkerId};

use super::peer::Peer;
use crate::message::ResumeToken;
use crate::notes::{last_words, LastWords, SharedWords};

/// A connection that ended.
struct Legacy {
    conn: ConnectionId,
    token: ResumeToken,
    /// Results that came from it.
    results: u64,
}

/// Those of processes that may still live, by worker.
#[derive(Default)]
pub(super) struct Legacies(HashMap<WorkerId, Legacy>);

impl Legacies {
    /// A connection of a worker that has notes ended.
    pub(super) fn keep(&mut self, peer: &Peer) {
        if let (Some(worker), true) = (peer.worker, peer.notes.is_some() && !peer.said_goodbye) {
            self.0.insert(
                worker,
                Legacy {
                    conn: peer.conn,
                    token: peer.token,
                    results: peer.results,
                },
            );
        }
    }

    /// The worker's process is over: what it left that hasn't been told.
    pub(super) fn close(
        &mut self,
        worker: WorkerId,
        notes: Option<&dyn SharedWords>,
    ) -> Option<(ConnectionId, LastWords)> {
        let legacy = self.0.remove(&worker)?;
        let words = last_words(notes?, &legacy.token, legacy.results)?;
        Some((legacy.conn, words))
    }
}
