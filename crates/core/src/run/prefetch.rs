//! How many blocks a worker should have in hand beyond the ones it runs.

use super::{Nanos, Timing};

/// The mean time of a task's blocks in a worker, and the window that follows from it.
///
/// Short blocks need many in hand to hide the round trip, long ones none: their neighbours would
/// only wait for them. Recent blocks count more than old ones.
#[derive(Debug)]
pub(super) struct Prefetch {
    mean_nanos: Option<f64>,
    window: u32,
}

impl Prefetch {
    pub(super) fn new() -> Prefetch {
        Prefetch {
            mean_nanos: None,
            window: 0,
        }
    }

    /// Blocks beyond the running ones. None before the first one was measured.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Mean time of a block, once one has finished.
    pub(super) fn mean(&self) -> Option<f64> {
        self.mean_nanos
    }

    /// A message brought `count` finished blocks that took `total` together.
    pub(super) fn observe(&mut self, count: usize, total: Nanos, timing: &Timing) {
        if count == 0 {
            return;
        }
        let seen = total.0 as f64 / count as f64;
        // One block moves the mean by a quarter, a batch of eight by nearly all of it: the first
        // blocks of a worker are slow (code is loaded and compiled) and mustn't rule for long.
        let weight = 1.0 - 0.75f64.powi(count.min(32) as i32);
        let mean = match self.mean_nanos {
            Some(mean) => mean + (seen - mean) * weight,
            None => seen,
        };
        self.mean_nanos = Some(mean);
        self.window = window_for(mean, timing);
    }
}

fn window_for(mean: f64, timing: &Timing) -> u32 {
    if mean >= timing.prefetch_none_from.0 as f64 {
        return 0;
    }
    let blocks = (timing.prefetch_time.0 as f64 / mean.max(1.0)).ceil();
    (blocks as u32).clamp(1, timing.prefetch_max.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window_of(block: Nanos) -> u32 {
        let mut prefetch = Prefetch::new();
        prefetch.observe(1, block, &Timing::default());
        prefetch.window()
    }

    #[test]
    fn long_blocks_have_no_company() {
        assert_eq!(Prefetch::new().window(), 0);
        assert_eq!(window_of(Nanos::from_secs(60)), 0);
        assert_eq!(window_of(Nanos::from_millis(10)), 0);
    }

    #[test]
    fn short_blocks_come_in_crowds() {
        assert_eq!(window_of(Nanos::from_millis(9)), 1);
        assert_eq!(window_of(Nanos::from_millis(1)), 2);
        assert_eq!(window_of(Nanos::from_micros(20)), 100);
        assert_eq!(window_of(Nanos(0)), Timing::default().prefetch_max);
    }

    #[test]
    fn a_slow_first_block_is_soon_forgotten() {
        let timing = Timing::default();
        let mut prefetch = Prefetch::new();
        prefetch.observe(1, Nanos::from_millis(20), &timing);
        assert_eq!(prefetch.window(), 0);
        for _ in 0..12 {
            prefetch.observe(1, Nanos::from_micros(2), &timing);
        }
        assert!(prefetch.window() >= 2);
        prefetch.observe(64, Nanos::from_micros(128), &timing);
        assert!(prefetch.window() > 100);
    }
}
