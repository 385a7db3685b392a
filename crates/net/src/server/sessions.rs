//! Workers on other machines whose connection may break and come back.

use std::collections::HashMap;

use bellis_core::run::{ConnectionId, Nanos};

use crate::message::ResumeToken;

/// How long a token is remembered after its connection ended: longer than the run waits for it, so
/// that it is the run that says no.
const REMEMBERED: Nanos = Nanos::from_secs(30);

/// One worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// The name of its last connection.
    pub(super) conn: ConnectionId,
    /// `Released` messages of its life, as of the end of that connection.
    pub(super) received: u64,
    ended: Option<Nanos>,
}

#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<[u8; 16], Session>);

impl Sessions {
    pub(super) fn began(&mut self, token: ResumeToken, conn: ConnectionId) {
        let session = Session {
            conn,
            received: 0,
            ended: None,
        };
        self.0.insert(token.0, session);
    }

    /// The connection broke.
    pub(super) fn broke(&mut self, token: ResumeToken, received: u64, now: Nanos) {
        self.0
            .retain(|_, session| session.ended.is_none_or(|ended| now - ended < REMEMBERED));
        if let Some(session) = self.0.get_mut(&token.0) {
            session.received = received;
            session.ended = Some(now);
        }
    }

    /// The worker won't come back.
    pub(super) fn ended(&mut self, token: ResumeToken) {
        self.0.remove(&token.0);
    }

    pub(super) fn find(&self, token: ResumeToken) -> Option<Session> {
        self.0.get(&token.0).copied()
    }
}
