//! Seeded noise for delays.

/// SplitMix64: small, and good enough to keep retries from marching in step.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A factor between 0.75 and 1.25.
    pub(super) fn jitter(&mut self) -> f64 {
        0.75 + (self.next() >> 11) as f64 / (1u64 << 53) as f64 / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_in_its_range_and_repeats_with_its_seed() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        for _ in 0..1000 {
            let factor = one.jitter();
            assert!((0.75..1.25).contains(&factor));
            assert_eq!(factor, other.jitter());
        }
        assert_ne!(Random::new(1).next(), Random::new(2).next());
    }
}
