//! Who is connected, and what is to be sent to whom.

use std::rc::Rc;

use bellis_core::run::ConnectionId;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::peer::{Peer, Sent};
use crate::message::{CloseReason, DriverMessage};

/// The peers of a run by the slots of their names.
#[derive(Default)]
pub(super) struct Table {
    peers: Vec<Option<Peer>>,
    dirty: Vec<ConnectionId>,
}

impl Table {
    pub(super) fn get(&mut self, conn: ConnectionId) -> Option<&mut Peer> {
        let peer = self.peers.get_mut(conn.slot as usize)?.as_mut()?;
        (peer.conn == conn).then_some(peer)
    }

    pub(super) fn seat(&mut self, peer: Peer) {
        let slot = peer.conn.slot as usize;
        if self.peers.len() <= slot {
            self.peers.resize_with(slot + 1, || None);
        }
        self.peers[slot] = Some(peer);
    }

    /// Takes a peer off the table, with a last message.
    pub(super) fn unseat(
        &mut self,
        conn: ConnectionId,
        reason: Option<CloseReason>,
    ) -> Option<Peer> {
        let seat = self.peers.get_mut(conn.slot as usize)?;
        let mut peer = seat.take_if(|peer| peer.conn == conn)?;
        if let Some(reason) = reason {
            // Whether it arrives or not makes no difference to anybody but the reader of a log.
            let _ = peer.say(&DriverMessage::Closing { reason });
        }
        let _ = peer.send();
        peer.hang_up();
        Some(peer)
    }

    /// Queues a message. True when this is the first one since the last flush for this peer.
    pub(super) fn say(&mut self, conn: ConnectionId, message: &DriverMessage) -> bool {
        let Some(peer) = self.get(conn) else {
            return false;
        };
        // Setups are measured before the run starts, everything else is short.
        let said = peer.say(message);
        debug_assert_eq!(said, Ok(()));
        let first = !std::mem::replace(&mut peer.dirty, true);
        if first {
            self.dirty.push(conn);
        }
        first
    }

    /// Sends what waits. Gives the connections whose sockets take no more just now, so that somebody
    /// waits for them.
    pub(super) fn flush(&mut self, blocked: &mut Vec<(ConnectionId, Rc<TcpStream>)>) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for conn in dirty.drain(..) {
            let Some(peer) = self.get(conn) else {
                continue;
            };
            peer.dirty = false;
            if peer.writing {
                continue;
            }
            match peer.send() {
                Sent::All => {}
                Sent::Part => {
                    peer.writing = true;
                    blocked.push((conn, Rc::clone(peer.stream())));
                }
                Sent::Broken => peer.hang_up(),
            }
        }
        self.dirty = dirty;
    }

    /// The socket takes more. False when there is nothing more to wait for.
    pub(super) fn write_more(&mut self, conn: ConnectionId) -> bool {
        let Some(peer) = self.get(conn) else {
            return false;
        };
        match peer.send() {
            Sent::All => {}
            Sent::Part => return true,
            Sent::Broken => peer.hang_up(),
        }
        peer.writing = false;
        false
    }

    /// A signal for when this peer has caught up; `None` when it isn't behind.
    pub(super) fn wait_for_room(&mut self, conn: ConnectionId) -> Option<Rc<Notify>> {
        let peer = self.get(conn)?;
        peer.is_behind().then(|| Rc::clone(&peer.room))
    }

    /// Bytes that peers haven't taken in yet.
    pub(super) fn backlog(&self) -> usize {
        self.peers.iter().flatten().map(Peer::backlog).sum()
    }
}
