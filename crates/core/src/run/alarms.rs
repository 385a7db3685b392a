//! What has to be looked at when a time has come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Nanos, WorkerId};

/// Reasons to wake up. What they stand for is looked up when they ring, so an alarm that is no
/// longer true rings for nothing and does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// Look for silent connections and passed deadlines.
    Sweep,
    /// More done blocks are waiting to be skipped.
    Skips,
    /// Blocks whose retry delay may be over.
    Retries,
    /// A start may be possible that wasn't (back-off, pacing).
    Starts,
    /// Take blocks back for idle workers of the task at this position.
    Retract(u32),
    /// Workers' blocks that are held for a death to be confirmed or a peer to come back.
    Limbo,
    /// A start that hasn't connected.
    Connect(WorkerId),
    /// A kill that hasn't been confirmed.
    KillConfirm(WorkerId),
    /// A process that lives on without a connection.
    Leave(WorkerId),
    /// The grace of a stop is over.
    Grace,
}

/// Alarms by time.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    heap: BinaryHeap<Reverse<(Nanos, Alarm)>>,
}

impl Alarms {
    pub(super) fn set(&mut self, at: Nanos, alarm: Alarm) {
        if at < Nanos::MAX {
            self.heap.push(Reverse((at, alarm)));
        }
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next alarm that is due.
    pub(super) fn ring(&mut self, now: Nanos) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, alarm))| alarm)
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_ring_in_order_and_not_too_early() {
        let mut alarms = Alarms::default();
        alarms.set(Nanos(20), Alarm::Grace);
        alarms.set(Nanos(10), Alarm::Sweep);
        alarms.set(Nanos::MAX, Alarm::Limbo);
        assert_eq!(alarms.next(), Some(Nanos(10)));
        assert_eq!(alarms.ring(Nanos(9)), None);
        assert_eq!(alarms.ring(Nanos(25)), Some(Alarm::Sweep));
        assert_eq!(alarms.ring(Nanos(25)), Some(Alarm::Grace));
        assert_eq!(alarms.ring(Nanos::MAX), None);
    }
}
