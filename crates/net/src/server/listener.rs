//! Takes in connections: how many, how fast, and what is told about those that don't belong here.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::connection;
use super::desk::SharedDesk;
use super::handshake::{meet, refuse};
use super::host::{Notice, StrangerReason};
use super::tasks::Tasks;
use crate::secret::Secret;
use crate::socket;

/// Handshakes at once. While there are as many, others wait in the system's queue.
const HANDSHAKES: usize = 512;

/// Who may come in.
pub(super) struct Rules {
    pub(super) secret: Secret,
    /// Connections at once.
    pub(super) most: usize,
    /// From the first byte to the introduction.
    pub(super) patience: Duration,
}

/// Accepts for ever.
pub(super) async fn listen(listener: TcpListener, rules: Rules, desk: SharedDesk, tasks: Tasks) {
    let door = Rc::new(Door {
        rules,
        desk,
        inside: Cell::new(0),
        handshakes: Semaphore::new(HANDSHAKES),
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
                if let Ok(permit) = door.handshakes.acquire().await {
                    permit.forget();
                }
                let guest = Guest::new(&door);
                tasks.spawn(receive(stream, address, guest));
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
    handshakes: Semaphore,
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

async fn receive(stream: TcpStream, address: SocketAddr, guest: Guest) {
    let door = &guest.0;
    socket::prepare(&stream);
    let stream = Rc::new(stream);
    let met = timeout(door.rules.patience, meet(&stream, &door.rules.secret)).await;
    door.handshakes.add_permits(1);
    let introduced = match met {
        Err(_) => Err(StrangerReason::TooSlow),
        Ok(Err(reason)) => Err(reason),
        Ok(Ok(acquaintance)) => {
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
