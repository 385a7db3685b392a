//! The sending half of one connection, as the run's thread holds it.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use bellis_core::run::{ConnectionId, WorkerId};
use bellis_core::BlockIndex;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::codec::{self, MAX_DRIVER_FRAME};
use crate::message::{DriverMessage, ResumeToken};
use crate::noise::Sealer;
use crate::notes::SharedWords;

/// A peer that leaves this many bytes unread isn't read from either until it has caught up.
const HIGH_WATER: usize = 256 << 10;

/// A peer that leaves this many bytes unread is thrown out. More than the longest frame.
const OVERFLOW: usize = MAX_DRIVER_FRAME + (16 << 20);

/// Memory that an emptied buffer keeps.
const KEPT: usize = 16 << 10;

pub(super) struct Peer {
    pub(super) conn: ConnectionId,
    pub(super) remote: bool,
    /// It was connected before, so it knows its task.
    pub(super) resumed: bool,
    pub(super) token: ResumeToken,
    /// `Released` messages in the life of this worker.
    pub(super) received: u64,
    /// Results that came from it: in those messages, and by its notes.
    pub(super) results: u64,
    /// Its number in the run, once it is welcome.
    pub(super) worker: Option<WorkerId>,
    /// What it writes down while it works.
    pub(super) notes: Option<Arc<dyn SharedWords>>,
    /// What it said would be running at its end.
    pub(super) last_words: Option<Vec<BlockIndex>>,
    pub(super) said_goodbye: bool,
    /// It waits to be flushed.
    pub(super) dirty: bool,
    /// A task waits until its socket takes more.
    pub(super) writing: bool,
    /// Told when the backlog has gone down.
    pub(super) room: Rc<Notify>,
    stream: Rc<TcpStream>,
    sealer: Sealer,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    sent: usize,
}

/// How far sending got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    All,
    /// The socket takes no more just now.
    Part,
    /// The connection is of no use any more.
    Broken,
}

impl Peer {
    pub(super) fn new(
        conn: ConnectionId,
        stream: Rc<TcpStream>,
        sealer: Sealer,
        token: ResumeToken,
    ) -> Peer {
        let addresses = (stream.peer_addr(), stream.local_addr());
        let remote = match addresses {
            (Ok(peer), Ok(own)) => !crate::socket::same_host(peer, own),
            _ => false,
        };
        Peer {
            conn,
            remote,
            resumed: false,
            token,
            received: 0,
            results: 0,
            worker: None,
            notes: None,
            last_words: None,
            said_goodbye: false,
            dirty: false,
            writing: false,
            room: Rc::new(Notify::new()),
            stream,
            sealer,
            plain: Vec::new(),
            sealed: Vec::new(),
            sent: 0,
        }
    }

    pub(super) fn stream(&self) -> &Rc<TcpStream> {
        &self.stream
    }

    /// Queues a message.
    ///
    /// # Errors
    /// It is longer than a frame may be.
    pub(super) fn say(&mut self, message: &DriverMessage) -> Result<(), codec::FrameError> {
        codec::encode(message, MAX_DRIVER_FRAME, &mut self.plain)
    }

    pub(super) fn backlog(&self) -> usize {
        self.plain.len() + self.sealed.len() - self.sent
    }

    pub(super) fn is_behind(&self) -> bool {
        self.backlog() > HIGH_WATER
    }

    /// Sends what the socket takes.
    pub(super) fn send(&mut self) -> Sent {
        if !self.plain.is_empty() {
            if codec::seal(&mut self.sealer, &self.plain, &mut self.sealed).is_err() {
                return Sent::Broken;
            }
            self.plain.clear();
            self.plain.shrink_to(KEPT);
        }
        while self.sent < self.sealed.len() {
            match self.stream.try_write(&self.sealed[self.sent..]) {
                Ok(0) => return Sent::Broken,
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.is_behind() {
                        self.room.notify_one();
                    }
                    return if self.backlog() > OVERFLOW {
                        Sent::Broken
                    } else {
                        Sent::Part
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Sent::Broken,
            }
        }
        self.sealed.clear();
        self.sealed.shrink_to(KEPT);
        self.sent = 0;
        self.room.notify_one();
        Sent::All
    }

    /// Ends the connection in both directions; whoever reads from it sees its end.
    pub(super) fn hang_up(&self) {
        hang_up(&self.stream);
    }
}

/// Ends a connection in both directions. What was sent before still arrives.
pub(super) fn hang_up(stream: &TcpStream) {
    // It may be gone already.
    let _ = rustix::net::shutdown(stream, rustix::net::Shutdown::Both);
}
