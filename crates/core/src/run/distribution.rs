//! Count, mean and spread of a quantity, taken in one sample at a time.

/// A running distribution (Welford's update: no digits are lost when the mean is large against the
/// spread).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution {
            count: 0,
            mean: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Distribution {
    /// Takes in one sample.
    #[inline]
    pub fn add(&mut self, sample: f64) {
        self.count += 1;
        let distance = sample - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (sample - self.mean);
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Takes in all samples of another one.
    pub fn merge(&mut self, other: &Distribution) {
        if other.count == 0 {
            return;
        }
        let total = self.count + other.count;
        let distance = other.mean - self.mean;
        let (own, others) = (self.count as f64, other.count as f64);
        self.squares += other.squares + distance * distance * own * others / total as f64;
        self.mean += distance * others / total as f64;
        self.count = total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; NaN without samples.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.mean
        }
    }

    /// Sum of the squared distances from the mean.
    pub fn m2(&self) -> f64 {
        self.squares
    }

    /// Standard deviation in the sample form (n - 1); NaN below two samples.
    pub fn std(&self) -> f64 {
        if self.count < 2 {
            f64::NAN
        } else {
            (self.squares / (self.count - 1) as f64).max(0.0).sqrt()
        }
    }

    /// Smallest sample; infinite without samples.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Largest sample; minus infinite without samples.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Sum of all samples.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The startups of the first run of the tutorial.
    const STARTUPS: [f64; 4] = [263.1, 286.8, 248.3, 201.2];

    #[test]
    fn the_spread_is_the_sample_form() {
        let mut all = Distribution::default();
        for sample in STARTUPS {
            all.add(sample);
        }
        assert_eq!(all.count(), 4);
        assert!((all.mean() - 249.85).abs() < 1e-9);
        assert!((all.std() - 36.1).abs() < 0.05);
        assert!((all.sum() - 999.4).abs() < 1e-9);
    }

    #[test]
    fn merged_parts_equal_the_whole() {
        let (mut whole, mut left, mut right) = (
            Distribution::default(),
            Distribution::default(),
            Distribution::default(),
        );
        for (at, sample) in STARTUPS.into_iter().enumerate() {
            whole.add(sample);
            if at < 1 { &mut left } else { &mut right }.add(sample);
        }
        left.merge(&Distribution::default());
        left.merge(&right);
        assert_eq!(left.count(), whole.count());
        assert!((left.mean() - whole.mean()).abs() < 1e-9);
        assert!((left.m2() - whole.m2()).abs() < 1e-6);
    }

    #[test]
    fn too_few_samples_have_no_figures() {
        let mut one = Distribution::default();
        assert!(one.mean().is_nan());
        assert_eq!(one.sum(), 0.0);
        one.add(3.0);
        assert_eq!(one.mean(), 3.0);
        assert!(one.std().is_nan());
    }
}
