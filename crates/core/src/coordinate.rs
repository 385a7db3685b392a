//! A point or an extent: one signed 64-bit integer per axis.

use std::fmt;

/// Most axes that a region may have. More is a validation error.
pub const MAX_DIMS: usize = 8;

/// One `i64` per axis, stored inline. Arithmetic is checked: `None` on overflow or when ranks differ.
#[derive(Clone, Copy)]
pub struct Coordinate {
    dims: u8,
    values: [i64; MAX_DIMS],
}

impl Coordinate {
    /// A coordinate of the given entries; `None` for no entry or more than [`MAX_DIMS`].
    pub fn new(values: &[i64]) -> Option<Self> {
        if values.is_empty() || values.len() > MAX_DIMS {
            return None;
        }
        let mut inline = [0; MAX_DIMS];
        inline[..values.len()].copy_from_slice(values);
        Some(Self {
            dims: values.len() as u8,
            values: inline,
        })
    }

    /// A coordinate whose entry on each axis is `entry(axis)`. `dims` is cut to `1..=MAX_DIMS`.
    pub fn from_fn(dims: usize, mut entry: impl FnMut(usize) -> i64) -> Self {
        let dims = dims.clamp(1, MAX_DIMS);
        let mut values = [0; MAX_DIMS];
        for (axis, value) in values[..dims].iter_mut().enumerate() {
            *value = entry(axis);
        }
        Self {
            dims: dims as u8,
            values,
        }
    }

    /// The same entry on every axis. `dims` is cut to `1..=MAX_DIMS`.
    pub fn splat(dims: usize, entry: i64) -> Self {
        Self::from_fn(dims, |_| entry)
    }

    /// Number of axes.
    #[inline]
    pub fn dims(&self) -> usize {
        usize::from(self.dims)
    }

    /// The entries in axis order.
    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        &self.values[..self.dims()]
    }

    /// The entries in axis order, one at a time.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator + '_ {
        self.as_slice().iter().copied()
    }

    /// Entry-wise combination, `None` when ranks differ or when `combine` gives `None` on any axis.
    fn zip(&self, other: &Self, combine: impl Fn(i64, i64) -> Option<i64>) -> Option<Self> {
        if self.dims != other.dims {
            return None;
        }
        let mut result = *self;
        for axis in 0..self.dims() {
            result.values[axis] = combine(self.values[axis], other.values[axis])?;
        }
        Some(result)
    }

    /// Entry-wise sum.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        self.zip(other, i64::checked_add)
    }

    /// Entry-wise difference.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        self.zip(other, i64::checked_sub)
    }

    /// Entry-wise product.
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        self.zip(other, i64::checked_mul)
    }

    /// Entry-wise quotient rounded toward minus infinity; `None` for a zero divisor. -7 by 3 is -3.
    pub fn checked_floor_div(&self, other: &Self) -> Option<Self> {
        self.zip(other, |a, b| {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && ((a < 0) != (b < 0)) {
                quotient - 1
            } else {
                quotient
            })
        })
    }

    /// Entry-wise remainder with the divisor's sign; `None` for a zero divisor. -7 by 3 is 2.
    pub fn checked_floor_mod(&self, other: &Self) -> Option<Self> {
        self.zip(other, |a, b| {
            let remainder = a.checked_rem(b)?;
            Some(if remainder != 0 && ((remainder < 0) != (b < 0)) {
                remainder + b
            } else {
                remainder
            })
        })
    }

    /// Entry-wise negation.
    pub fn checked_neg(&self) -> Option<Self> {
        self.zip(self, |a, _| a.checked_neg())
    }

    /// Entry-wise minimum; `None` when ranks differ.
    pub fn min(&self, other: &Self) -> Option<Self> {
        self.zip(other, |a, b| Some(a.min(b)))
    }

    /// Entry-wise maximum; `None` when ranks differ.
    pub fn max(&self, other: &Self) -> Option<Self> {
        self.zip(other, |a, b| Some(a.max(b)))
    }

    /// Product of all entries, `None` beyond `i128`.
    pub fn product(&self) -> Option<i128> {
        self.iter().try_fold(1i128, |product, entry| {
            product.checked_mul(i128::from(entry))
        })
    }
}

impl std::ops::Index<usize> for Coordinate {
    type Output = i64;

    /// The entry of an axis.
    ///
    /// # Panics
    /// When `axis` isn't below [`dims`](Coordinate::dims), as for a slice.
    #[inline]
    fn index(&self, axis: usize) -> &i64 {
        &self.as_slice()[axis]
    }
}

impl PartialEq for Coordinate {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Coordinate {}

impl std::hash::Hash for Coordinate {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, entry) in self.iter().enumerate() {
            if axis > 0 {
                f.write_str(", ")?;
            }
            entry.fmt(f)?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(values: &[i64]) -> Coordinate {
        Coordinate::new(values).expect("between 1 and 8 entries")
    }

    #[test]
    fn division_and_remainder_floor_toward_minus_infinity() {
        assert_eq!(
            c(&[-7, 7, -6]).checked_floor_div(&c(&[3, 3, 3])),
            Some(c(&[-3, 2, -2]))
        );
        assert_eq!(
            c(&[-7, 7, -6]).checked_floor_mod(&c(&[3, 3, 3])),
            Some(c(&[2, 1, 0]))
        );
        assert_eq!(
            c(&[7, -7]).checked_floor_div(&c(&[-3, -3])),
            Some(c(&[-3, 2]))
        );
        assert_eq!(
            c(&[7, -7]).checked_floor_mod(&c(&[-3, -3])),
            Some(c(&[-2, -1]))
        );
        assert_eq!(c(&[1]).checked_floor_div(&c(&[0])), None);
        assert_eq!(c(&[i64::MIN]).checked_floor_div(&c(&[-1])), None);
    }

    #[test]
    fn rank_mismatch_and_overflow_give_nothing() {
        assert_eq!(c(&[1, 2]).checked_add(&c(&[1])), None);
        assert_eq!(c(&[i64::MAX]).checked_add(&c(&[1])), None);
        assert_eq!(c(&[i64::MIN]).checked_neg(), None);
        assert_eq!(
            c(&[i64::MAX, i64::MAX]).product(),
            Some(85070591730234615847396907784232501249)
        );
        assert_eq!(c(&[i64::MAX; 3]).product(), None);
    }

    #[test]
    fn ranks_beyond_the_limits_are_refused() {
        assert_eq!(Coordinate::new(&[]), None);
        assert_eq!(Coordinate::new(&[0; MAX_DIMS + 1]), None);
        assert_eq!(c(&[0; MAX_DIMS]).dims(), MAX_DIMS);
    }

    #[test]
    fn prints_as_a_tuple() {
        assert_eq!(c(&[1, -2, 3]).to_string(), "(1, -2, 3)");
    }
}
