//! Peers in their handshake. There is room for so many, and whoever comes when it is full makes one of
//! them leave: of the address with most of them, the one that has been there longest.
//!
//! A worker needs two round trips, so it is through long before a flood of connections that say
//! nothing has pushed it out, and one that comes from elsewhere than the flood isn't pushed out at
//! all. Nothing that a peer says before its introduction gives it a right to stay: the first message
//! of a handshake may have been overheard.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

use tokio::sync::Notify;

/// Peers in the order in which they came.
pub(super) struct WaitingRoom {
    seats: usize,
    waiting: RefCell<VecDeque<Waiting>>,
}

struct Waiting {
    address: IpAddr,
    told_to_leave: Rc<Notify>,
}

/// A peer's place; given back when it is dropped.
pub(super) struct Seat {
    room: Rc<WaitingRoom>,
    told_to_leave: Rc<Notify>,
}

impl WaitingRoom {
    pub(super) fn new(seats: usize) -> WaitingRoom {
        WaitingRoom {
            seats: seats.max(1),
            waiting: RefCell::default(),
        }
    }

    /// Takes a peer in, at another's cost where the room is full.
    pub(super) fn enter(self: &Rc<Self>, address: IpAddr) -> Seat {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= self.seats {
            if let Some(leaver) = longest_of_most(&waiting).and_then(|at| waiting.remove(at)) {
                leaver.told_to_leave.notify_one();
            }
        }
        let told_to_leave = Rc::new(Notify::new());
        waiting.push_back(Waiting {
            address,
            told_to_leave: Rc::clone(&told_to_leave),
        });
        Seat {
            room: Rc::clone(self),
            told_to_leave,
        }
    }
}

impl Seat {
    /// Waits until another one needs the place.
    pub(super) async fn taken(&self) {
        self.told_to_leave.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut waiting = self.room.waiting.borrow_mut();
        waiting.retain(|one| !Rc::ptr_eq(&one.told_to_leave, &self.told_to_leave));
    }
}

/// Where the one stands that came first from the address that most came from.
fn longest_of_most(waiting: &VecDeque<Waiting>) -> Option<usize> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for one in waiting {
        *counts.entry(one.address).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    waiting.iter().position(|one| counts[&one.address] == most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn must_leave(seat: &Seat) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(pin!(seat.taken()).poll(&mut context), Poll::Ready(()))
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn the_longest_there_of_the_most_frequent_address_leaves() {
        let room = Rc::new(WaitingRoom::new(4));
        let lone = room.enter(address(1));
        let crowd: Vec<Seat> = (0..3).map(|_| room.enter(address(2))).collect();
        let late = room.enter(address(3));
        let left: Vec<bool> = crowd.iter().map(must_leave).collect();
        assert_eq!(left, [true, false, false]);
        assert!(!must_leave(&lone) && !must_leave(&late));
    }

    #[test]
    fn nobody_leaves_while_there_is_room() {
        let room = Rc::new(WaitingRoom::new(2));
        let first = room.enter(address(1));
        drop(room.enter(address(1)));
        let third = room.enter(address(1));
        assert!(!must_leave(&first) && !must_leave(&third));
        drop((first, third));
        assert!(room.waiting.borrow().is_empty());
    }
}
