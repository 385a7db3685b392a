//! Peers in their handshake. There is room for so many. When it is full, the next one waits for a place,
//! at most until one of those inside has had its fair time, who must leave then: of the address with
//! most of them, the one that has been there longest.
//!
//! A worker needs two round trips, so of thousands that come at once each is through in time, while
//! connections that say nothing make room for it long before they would be sent away. Nothing that a
//! peer says before its introduction gives it a right to stay: the first message of a handshake may
//! have been overheard.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::select;
use tokio::sync::Notify;
use tokio::time::{sleep_until, Instant};

/// Peers in the order in which they came.
pub(super) struct WaitingRoom {
    seats: usize,
    /// How long nobody has to leave for others.
    fair_time: Duration,
    waiting: RefCell<VecDeque<Waiting>>,
    left: Notify,
}

struct Waiting {
    address: IpAddr,
    since: Instant,
    told_to_leave: Rc<Notify>,
}

/// A peer's place; given back when it is dropped.
pub(super) struct Seat {
    room: Rc<WaitingRoom>,
    told_to_leave: Rc<Notify>,
}

impl WaitingRoom {
    pub(super) fn new(seats: usize, fair_time: Duration) -> WaitingRoom {
        WaitingRoom {
            seats: seats.max(1),
            fair_time,
            waiting: RefCell::default(),
            left: Notify::new(),
        }
    }

    /// Takes a peer in, as soon as there is a place.
    pub(super) async fn enter(self: &Rc<Self>, address: IpAddr) -> Seat {
        while let Some(until) = self.make_place() {
            select! {
                () = self.left.notified() => {}
                () = sleep_until(until) => {}
            }
        }
        let told_to_leave = Rc::new(Notify::new());
        self.waiting.borrow_mut().push_back(Waiting {
            address,
            since: Instant::now(),
            told_to_leave: Rc::clone(&told_to_leave),
        });
        Seat {
            room: Rc::clone(self),
            told_to_leave,
        }
    }

    /// Makes a place where there is none. Gives until when it can't.
    fn make_place(&self) -> Option<Instant> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() < self.seats {
            return None;
        }
        let at = longest_of_most(&waiting)?;
        let until = waiting[at].since + self.fair_time;
        if Instant::now() < until {
            return Some(until);
        }
        if let Some(leaver) = waiting.remove(at) {
            leaver.told_to_leave.notify_one();
        }
        None
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
        self.room.left.notify_one();
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
    use std::pin::{pin, Pin};
    use std::task::{Context, Poll, Waker};

    fn look<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn must_leave(seat: &Seat) -> bool {
        look(pin!(seat.taken())).is_some()
    }

    fn enters(room: &Rc<WaitingRoom>, last: u8) -> Option<Seat> {
        look(pin!(room.enter(IpAddr::from([192, 0, 2, last]))))
    }

    /// Timers need a runtime around them.
    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    }

    #[test]
    fn the_longest_there_of_the_most_frequent_address_leaves() {
        let room = Rc::new(WaitingRoom::new(4, Duration::ZERO));
        let lone = enters(&room, 1).unwrap();
        let crowd: Vec<Seat> = (0..3).map(|_| enters(&room, 2).unwrap()).collect();
        let late = enters(&room, 3).unwrap();
        let left: Vec<bool> = crowd.iter().map(must_leave).collect();
        assert_eq!(left, [true, false, false]);
        assert!(!must_leave(&lone) && !must_leave(&late));
    }

    #[test]
    fn nobody_leaves_while_there_is_room() {
        let room = Rc::new(WaitingRoom::new(2, Duration::ZERO));
        let first = enters(&room, 1).unwrap();
        drop(enters(&room, 1));
        let third = enters(&room, 1).unwrap();
        assert!(!must_leave(&first) && !must_leave(&third));
        drop((first, third));
        assert!(room.waiting.borrow().is_empty());
    }

    #[test]
    fn nobody_leaves_before_its_time_and_the_next_one_waits() {
        let runtime = runtime();
        let _inside = runtime.enter();
        let room = Rc::new(WaitingRoom::new(2, Duration::from_secs(3600)));
        let seats: Vec<Seat> = (0..2).map(|_| enters(&room, 1).unwrap()).collect();
        let mut next = pin!(room.enter(IpAddr::from([192, 0, 2, 2])));
        assert!(look(next.as_mut()).is_none());
        assert!(!seats.iter().any(must_leave));
        drop(seats);
        assert!(look(next.as_mut()).is_some());
    }
}
