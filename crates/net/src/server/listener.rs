//! Takes in connections: how many, how fast, and what is told about those that don't belong here.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::time::{sleep, timeout};

use super::connection;
use super::desk::SharedDesk;
use super::handshake::{meet, refuse};
use super::host::{Notice, StrangerReason};
use super::tasks::Tasks;
use super::waiting_room::{Seat, WaitingRoom};
use crate::secret::Secret;
use crate::socket;

/// Who may come in.
pub(super) struct Rules {
    pub(super) secret: Secret,
    /// Connections at once.
    pub(super) most: usize,
    /// Handshakes at once.
    pub(super) handshakes: usize,
    /// How long none of them is broken off for others.
    pub(super) fair_time: Duration,
    /// From the first byte to the introduction.
    pub(super) patience: Duration,
}

/// Accepts for ever.
pub(super) async fn listen(listener: TcpListener, rules: Rules, desk: SharedDesk, tasks: Tasks) {
    let door = Rc::new(Door {
        inside: Cell::new(0),
        waiting: Rc::new(WaitingRoom::new(rules.handshakes, rules.fair_time)),
        rules,
        desk,
    });
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                if door.inside.get() >= door.rules.most {
                    refuse(&stream).await;
                    door.desk
                        .borrow_mut()
                        .turned_away(address, StrangerReason::TooMany);
                    continue;
                }
                let guest = Guest::new(&door);
                let seat = door.waiting.enter(address.ip()).await;
                tasks.spawn(receive(stream, address, guest, seat));
            }
            Err(error) => {
                let message = error.to_string();
                door.desk
                    .borrow_mut()
                    .notice(Notice::CannotAccept { message });
                // Out of descriptors, most likely: others have to leave first.
                sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

struct Door {
    rules: Rules,
    desk: SharedDesk,
    /// Connections, those in their handshake included.
    inside: Cell<usize>,
    waiting: Rc<WaitingRoom>,
}

/// Counts one connection for as long as it lives.
struct Guest(Rc<Door>);

impl Guest {
    fn new(door: &Rc<Door>) -> Guest {
        door.inside.set(door.inside.get() + 1);
        Guest(Rc::clone(door))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.inside.set(self.0.inside.get() - 1);
    }
}

async fn receive(stream: TcpStream, address: SocketAddr, guest: Guest, seat: Seat) {
    let door = &guest.0;
    socket::prepare(&stream);
    let stream = Rc::new(stream);
    let meeting = timeout(door.rules.patience, meet(&stream, &door.rules.secret));
    let met = select! {
        // Who is through in the moment in which it is told to leave may stay.
        biased;
        met = meeting => met.unwrap_or(Err(StrangerReason::TooSlow)),
        () = seat.taken() => Err(StrangerReason::CrowdedOut),
    };
    drop(seat);
    let introduced = match met {
        Err(reason) => Err(reason),
        Ok(acquaintance) => {
            let mut desk = door.desk.borrow_mut();
            let conn = desk.introduce(&stream, acquaintance.sealer, acquaintance.first);
            conn.map(|conn| (conn, acquaintance.reader))
        }
    };
    match introduced {
        Ok((conn, reader)) => connection::read(&door.desk, conn, stream, reader).await,
        // A peer that thought better of it is nobody's business.
        Err(StrangerReason::HungUp) => {}
        Err(reason) => door.desk.borrow_mut().turned_away(address, reason),
    }
}
