//! Maps a worker's monotonic clock onto the run's.

use super::Nanos;

/// How long an observation counts: clocks drift by some microseconds a second.
const WINDOW: Nanos = Nanos::from_secs(30);

/// The difference between two monotonic clocks, from what messages said about it.
///
/// A heartbeat that says how long a round trip took bounds the difference to half of it, so the one
/// with the shortest round trip of the last minute is believed. Before the first one, the smallest
/// difference between the receipt and the end of a block is (the message took no time at all).
#[derive(Debug, Default)]
pub(super) struct ClockOffset {
    best: Option<Observation>,
    earlier: Option<Observation>,
    window_began: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    /// Run's clock minus worker's, wrapping: the worker's clock may be anything.
    offset: u64,
    /// `Nanos::MAX` where only a bound is known.
    round_trip: Nanos,
}

impl ClockOffset {
    /// A message with the sender's time came in.
    pub(super) fn observe(&mut self, receipt: Nanos, sent: Nanos, round_trip: Option<Nanos>) {
        let seen = match round_trip {
            Some(round_trip) => Observation {
                offset: receipt
                    .0
                    .wrapping_sub(sent.0)
                    .wrapping_sub(round_trip.0 / 2),
                round_trip,
            },
            None => Observation {
                offset: receipt.0.wrapping_sub(sent.0),
                round_trip: Nanos::MAX,
            },
        };
        if receipt - self.window_began > WINDOW {
            self.window_began = receipt;
            self.earlier = self.best.take();
        }
        self.best = Some(match self.best {
            Some(best) => best.better(seen),
            None => seen,
        });
    }

    /// The run's times of a block's begin and end on the worker's clock. It was not granted before
    /// `earliest`, and its result came at `latest`.
    ///
    /// As long as it can be, a block is as long as the worker says: what lies out of bounds shows that
    /// the difference was estimated wrongly, and corrects it, rather than being cut off.
    pub(super) fn span(
        &mut self,
        (started, ended): (Nanos, Nanos),
        earliest: Nanos,
        latest: Nanos,
    ) -> (Nanos, Nanos) {
        let latest = latest.max(earliest);
        let length = ended - started;
        if length > latest - earliest {
            return (earliest, latest);
        }
        let last_begin = latest - length;
        let Some(believed) = self.believed() else {
            return (last_begin, latest);
        };
        let mapped = Nanos(started.0.wrapping_add(believed.offset));
        let begin = mapped.min(last_begin).max(earliest);
        let wrong_by = begin.0.wrapping_sub(mapped.0);
        for seen in [&mut self.best, &mut self.earlier].into_iter().flatten() {
            seen.offset = seen.offset.wrapping_add(wrong_by);
        }
        (begin, begin + length)
    }

    fn believed(&self) -> Option<Observation> {
        match (self.best, self.earlier) {
            (Some(best), Some(earlier)) => Some(best.better(earlier)),
            (only, None) | (None, only) => only,
        }
    }

    /// Whether nothing is known yet but bounds.
    pub(super) fn is_vague(&self) -> bool {
        let known = |seen: Option<Observation>| {
            seen.is_some_and(|observation| observation.round_trip < Nanos::MAX)
        };
        !known(self.best) && !known(self.earlier)
    }
}

impl Observation {
    fn better(self, other: Observation) -> Observation {
        let (mine, others) = (self.round_trip, other.round_trip);
        // Between two bounds the smaller difference wins, taken as a signed distance.
        let tighter = mine == others && (other.offset.wrapping_sub(self.offset) as i64) < 0;
        if others < mine || tighter {
            other
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a block of no length lies.
    fn map(clock: &mut ClockOffset, instant: u64, earliest: u64, latest: u64) -> u64 {
        let at = Nanos(instant);
        clock.span((at, at), Nanos(earliest), Nanos(latest)).0 .0
    }

    #[test]
    fn the_shortest_round_trip_is_believed() {
        let mut clock = ClockOffset::default();
        assert_eq!(map(&mut clock, 5, 10, 90), 90);
        // The worker's clock is 1000 ahead; the first message took 40, the second 3 of 6.
        clock.observe(Nanos(140), Nanos(1100), None);
        assert!(clock.is_vague());
        assert_eq!(map(&mut clock, 1100, 0, 500), 140);
        clock.observe(Nanos(203), Nanos(1200), Some(Nanos(6)));
        clock.observe(Nanos(390), Nanos(1300), Some(Nanos(120)));
        assert!(!clock.is_vague());
        assert_eq!(map(&mut clock, 1250, 0, 500), 250);
    }

    #[test]
    fn blocks_lie_between_grant_and_receipt() {
        let clock = || {
            let mut clock = ClockOffset::default();
            clock.observe(Nanos(100), Nanos(100), Some(Nanos(0)));
            clock
        };
        assert_eq!(map(&mut clock(), 7, 50, 60), 50);
        assert_eq!(map(&mut clock(), u64::MAX, 50, 60), 60);
        assert_eq!(map(&mut clock(), 55, 50, 60), 55);
        let longer = (Nanos(40), Nanos(70));
        let granted_and_back = (Nanos(50), Nanos(60));
        assert_eq!(clock().span(longer, Nanos(50), Nanos(60)), granted_and_back);
        // It ended before it began.
        let turned = (Nanos(55), Nanos(51));
        assert_eq!(clock().span(turned, Nanos(50), Nanos(60)).0, Nanos(55));
    }

    #[test]
    fn a_block_is_as_long_as_its_worker_says_and_corrects_what_was_believed() {
        let mut clock = ClockOffset::default();
        // The clocks are the same. A heartbeat took 20, all of it on the way back.
        clock.observe(Nanos(100), Nanos(100), Some(Nanos(20)));
        let block = (Nanos(200), Nanos(230));
        assert_eq!(
            clock.span(block, Nanos(198), Nanos(240)),
            (Nanos(198), Nanos(228))
        );
        // What is known from it holds for the next.
        let next = (Nanos(300), Nanos(330));
        assert_eq!(
            clock.span(next, Nanos(231), Nanos(340)),
            (Nanos(298), Nanos(328))
        );
        // Another took 20 on the way here.
        let mut clock = ClockOffset::default();
        clock.observe(Nanos(120), Nanos(100), Some(Nanos(20)));
        assert_eq!(
            clock.span(block, Nanos(150), Nanos(233)),
            (Nanos(203), Nanos(233))
        );
    }

    #[test]
    fn old_observations_are_forgotten() {
        let mut clock = ClockOffset::default();
        clock.observe(Nanos(0), Nanos(0), Some(Nanos(2)));
        let later = Nanos::from_secs(40);
        clock.observe(later, later + Nanos(500), Some(Nanos(100)));
        assert_eq!(map(&mut clock, 1000, 0, 2000), 999);
        let latest = Nanos::from_secs(80);
        clock.observe(latest, latest + Nanos(500), Some(Nanos(100)));
        assert_eq!(map(&mut clock, 1000, 0, 2000), 450);
    }
}
