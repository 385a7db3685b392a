//! Block numbers: a generalised Cantor pairing of the grid vector, which doesn't change when the volume grows.
//!
//! `N(i0) = i0`, and `N(i0..in-1) = C(s + n - 1, n) + N(i0..in-2)` with `s` the sum of all `n` entries. So numbers
//! compare like the sums of ever shorter prefixes, longest first, and no number has to be computed to order blocks.

use std::cmp::Ordering;

use crate::MAX_DIMS;

/// `C(s + n - 1, n)`, exact, or `None` beyond `u128`.
fn figurate(s: u128, n: u128) -> Option<u128> {
    let mut result: u128 = 1;
    for k in 1..=n {
        // result * (s + k - 1) / k, with the division first, so that only a true overflow is one.
        let factor = s.checked_add(k - 1)?;
        let shared = gcd(result, k);
        result = (result / shared).checked_mul(factor / (k / shared))?;
    }
    Some(result)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The number of a grid vector, `None` beyond `u128`.
pub(crate) fn number(entries: &[u64]) -> Option<u128> {
    let mut sum = 0u128;
    let mut total = 0u128;
    for (axis, &entry) in entries.iter().enumerate() {
        sum = sum.checked_add(u128::from(entry))?;
        total = total.checked_add(figurate(sum, axis as u128 + 1)?)?;
    }
    Some(total)
}

/// The grid vector of a number: the inverse of [`number`]. `max_sum` bounds the sum of the entries.
pub(crate) fn entries(mut number: u128, dims: usize, max_sum: u128) -> Option<[u64; MAX_DIMS]> {
    let mut result = [0u64; MAX_DIMS];
    let mut outer_sum: Option<u128> = None;
    for n in (1..=dims).rev() {
        // The largest s whose figurate number is not above what is left; a prefix's sum is never larger.
        let (mut low, mut high) = (0u128, outer_sum.unwrap_or(max_sum).checked_add(1)?);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if figurate(middle, n as u128).is_some_and(|least| least <= number) {
                low = middle;
            } else {
                high = middle;
            }
        }
        number -= figurate(low, n as u128)?;
        if let Some(sum) = outer_sum {
            result[n] = u64::try_from(sum - low).ok()?;
        }
        outer_sum = Some(low);
    }
    result[0] = u64::try_from(outer_sum?).ok()?;
    (number == 0).then_some(result)
}

/// Orders two grid vectors of one task by their numbers.
pub(crate) fn compare(a: &[u64], b: &[u64]) -> Ordering {
    debug_assert_eq!(a.len(), b.len());
    for length in (1..=a.len()).rev() {
        let sum = |entries: &[u64]| {
            entries[..length]
                .iter()
                .map(|&e| u128::from(e))
                .sum::<u128>()
        };
        match sum(a).cmp(&sum(b)) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

/// Prefix sums, longest first: sorting by them is sorting by number.
pub(crate) fn order_key(entries: &[u64]) -> [u64; MAX_DIMS] {
    let mut key = [0; MAX_DIMS];
    let mut sum = 0u64;
    for (axis, &entry) in entries.iter().enumerate() {
        sum = sum.saturating_add(entry);
        key[entries.len() - 1 - axis] = sum;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_numbers() {
        let cases: [(&[u64], u128); 14] = [
            (&[3], 3),
            (&[1, 2], 7),
            (&[2, 1], 8),
            (&[4, 4], 40),
            (&[3, 5], 39),
            (&[1, 2, 3], 63),
            (&[0, 0, 1], 1),
            (&[0, 1, 0], 2),
            (&[1, 0, 0], 3),
            (&[1, 1, 1], 14),
            (&[2, 3, 5], 237),
            (&[10, 20, 30], 38295),
            (&[99, 99, 99], 4430349),
            (&[70001, 70001, 70001, 70001], 256_128_333_516_076_175_049),
        ];
        for (vector, expected) in cases {
            assert_eq!(number(vector), Some(expected), "{vector:?}");
            assert_eq!(
                entries(expected, vector.len(), 1 << 40).map(|e| e[..vector.len()].to_vec()),
                Some(vector.to_vec())
            );
        }
    }

    #[test]
    fn too_large_a_number_is_none_and_never_wraps() {
        assert_eq!(number(&[u64::MAX]), Some(u128::from(u64::MAX)));
        assert!(number(&[u64::MAX / 2, u64::MAX / 2]).is_some());
        assert_eq!(number(&[u64::MAX; 2]), None);
        assert_eq!(number(&[1 << 60; 8]), None);
    }

    #[test]
    fn numbers_of_a_full_cube_are_dense_from_zero_up_to_its_smallest_missing_sum() {
        let mut numbers: Vec<u128> = (0..125u64)
            .map(|i| number(&[i / 25, i / 5 % 5, i % 5]).expect("small"))
            .filter(|&n| n < 35)
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..35).collect::<Vec<u128>>());
    }

    proptest! {
        #[test]
        fn order_and_inverse_agree_with_the_numbers(
            dims in 1usize..=6,
            a in proptest::array::uniform8(0u64..2000),
            b in proptest::array::uniform8(0u64..2000),
        ) {
            let (a, b) = (&a[..dims], &b[..dims]);
            let (na, nb) = (number(a).expect("fits"), number(b).expect("fits"));
            prop_assert_eq!(compare(a, b), na.cmp(&nb));
            prop_assert_eq!(order_key(a).cmp(&order_key(b)), na.cmp(&nb));
            prop_assert_eq!(entries(na, dims, 100_000).map(|e| e[..dims].to_vec()), Some(a.to_vec()));
        }
    }
}
