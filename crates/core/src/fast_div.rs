//! Division of block indices by extents that stay the same: a multiplication where that is exact.

/// A divisor with its reciprocal, a 64-bit fraction rounded up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastDiv {
    divisor: u64,
    reciprocal: u64,
}

impl FastDiv {
    /// A divisor for numerators up to `max`. The multiplication is exact when `max * divisor < 2^64`;
    /// otherwise, and for a divisor of 1, the plain division is kept. A zero divisor counts as 1.
    pub(crate) fn new(divisor: u64, max: u64) -> Self {
        let divisor = divisor.max(1);
        let exact = divisor > 1 && u128::from(max) * u128::from(divisor) < 1 << 64;
        Self {
            divisor,
            reciprocal: if exact { u64::MAX / divisor + 1 } else { 0 },
        }
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub(crate) fn div_rem(&self, n: u64) -> (u64, u64) {
        let quotient = if self.reciprocal != 0 {
            ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64
        } else if self.divisor == 1 {
            n
        } else {
            n / self.divisor
        };
        (
            quotient,
            n.wrapping_sub(quotient.wrapping_mul(self.divisor)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_plain_division_up_to_its_bound() {
        for divisor in [
            1u64,
            2,
            3,
            7,
            10,
            40,
            64,
            1000,
            65_535,
            65_536,
            1 << 31,
            (1 << 32) - 1,
        ] {
            for max in [1u64, 100, (1 << 32) - 1, 1 << 40, (1 << 53) - 1, u64::MAX] {
                let fast = FastDiv::new(divisor, max);
                let near = (0..50).flat_map(|k| {
                    let multiple = divisor.saturating_mul(k * 1_000_003 + 1);
                    [
                        multiple.saturating_sub(1),
                        multiple,
                        multiple.saturating_add(1),
                        max - max.min(k),
                    ]
                });
                for n in near.filter(|&n| n <= max) {
                    assert_eq!(
                        fast.div_rem(n),
                        (n / divisor, n % divisor),
                        "{n} / {divisor}, max {max}"
                    );
                }
            }
        }
    }
}
