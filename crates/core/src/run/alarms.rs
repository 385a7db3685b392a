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

impl Alarm {
    /// Whether somebody else's silence or inaction is judged when it rings.
    pub(super) fn is_about_others(self) -> bool {
        matches!(
            self,
            Alarm::Sweep
                | Alarm::Limbo
                | Alarm::KillConfirm(_)
                | Alarm::Connect(_)
                | Alarm::Leave(_)
        )
    }
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

    /// The next alarm that is due, and since when.
    pub(super) fn ring(&mut self, now: Nanos) -> Option<(Nanos, Alarm)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
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
        assert_eq!(alarms.ring(Nanos(25)), Some((Nanos(10), Alarm::Sweep)));
        assert_eq!(alarms.ring(Nanos(25)), Some((Nanos(20), Alarm::Grace)));
        assert_eq!(alarms.ring(Nanos::MAX), None);
    }
}
