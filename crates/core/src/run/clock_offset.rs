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

    /// The run's time of an instant of the worker's clock, not before `earliest`, not after `latest`.
    pub(super) fn map(&self, instant: Nanos, earliest: Nanos, latest: Nanos) -> Nanos {
        let believed = match (self.best, self.earlier) {
            (Some(best), Some(earlier)) => best.better(earlier),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return latest.max(earliest),
        };
        let mapped = Nanos(instant.0.wrapping_add(believed.offset));
        mapped.min(latest).max(earliest)
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

    #[test]
    fn the_shortest_round_trip_is_believed() {
        let mut clock = ClockOffset::default();
        assert_eq!(clock.map(Nanos(5), Nanos(10), Nanos(90)), Nanos(90));
        // The worker's clock is 1000 ahead; the first message took 40, the second 3 of 6.
        clock.observe(Nanos(140), Nanos(1100), None);
        assert!(clock.is_vague());
        assert_eq!(clock.map(Nanos(1100), Nanos(0), Nanos(500)), Nanos(140));
        clock.observe(Nanos(203), Nanos(1200), Some(Nanos(6)));
        clock.observe(Nanos(390), Nanos(1300), Some(Nanos(120)));
        assert!(!clock.is_vague());
        assert_eq!(clock.map(Nanos(1250), Nanos(0), Nanos(500)), Nanos(250));
    }

    #[test]
    fn mapped_times_lie_between_grant_and_receipt() {
        let mut clock = ClockOffset::default();
        clock.observe(Nanos(100), Nanos(100), Some(Nanos(0)));
        assert_eq!(clock.map(Nanos(7), Nanos(50), Nanos(60)), Nanos(50));
        assert_eq!(clock.map(Nanos(u64::MAX), Nanos(50), Nanos(60)), Nanos(60));
        assert_eq!(clock.map(Nanos(55), Nanos(50), Nanos(60)), Nanos(55));
    }

    #[test]
    fn old_observations_are_forgotten() {
        let mut clock = ClockOffset::default();
        clock.observe(Nanos(0), Nanos(0), Some(Nanos(2)));
        let later = Nanos::from_secs(40);
        clock.observe(later, later + Nanos(500), Some(Nanos(100)));
        assert_eq!(clock.map(Nanos(1000), Nanos(0), Nanos(2000)), Nanos(999));
        let latest = Nanos::from_secs(80);
        clock.observe(latest, latest + Nanos(500), Some(Nanos(100)));
        assert_eq!(clock.map(Nanos(1000), Nanos(0), Nanos(2000)), Nanos(450));
    }
}
