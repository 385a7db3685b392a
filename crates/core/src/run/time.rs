//! Monotonic time as the run sees it: nanoseconds handed in by the driver, never read from a clock.

use std::ops::{Add, Sub};

/// A monotonic instant or a duration, in nanoseconds.
///
/// Instants handed to [`Run::handle`](super::Run::handle) count from the start of the run; instants
/// of a worker's clock count from whatever that worker likes. Arithmetic saturates, so a timeout of
/// years or a hostile clock never overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of the run, or an empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than everything else.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// A duration of whole microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// A duration of whole milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// A duration of whole seconds, saturating.
    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs.saturating_mul(1_000_000_000))
    }

    /// The same in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// A measured duration as people read it, in seconds with one decimal where there is one: `25 s`,
    /// `2.5 s`; in milliseconds below one second.
    pub(super) fn in_words(self) -> String {
        if self < Nanos::from_secs(1) {
            return format!("{} ms", self.0 / 1_000_000);
        }
        let tenths = self.0.saturating_add(50_000_000) / 100_000_000;
        match tenths % 10 {
            0 => format!("{} s", tenths / 10),
            tenth => format!("{}.{tenth} s", tenths / 10),
        }
    }

    /// Multiplied by a whole number, saturating.
    pub const fn times(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// Zero where `other` is later.
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Nanos;

    #[test]
    fn measured_durations_are_rounded() {
        for (nanos, words) in [
            (0, "0 ms"),
            (200_400_000, "200 ms"),
            (1_000_000_000, "1 s"),
            (25_002_271_022, "25 s"),
            (2_549_999_999, "2.5 s"),
            (2_550_000_000, "2.6 s"),
            (u64::MAX, "18446744073.7 s"),
        ] {
            assert_eq!(Nanos(nanos).in_words(), words);
        }
    }
}
