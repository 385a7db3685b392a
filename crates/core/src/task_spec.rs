//! A task as the scheduler sees it, and the rules its regions must keep.

use std::fmt;
use std::str::FromStr;

use crate::{CoreError, Roi};

/// Largest distance of a region's begin or end from the origin, in voxels, so that no later sum overflows.
pub const MAX_COORDINATE: i64 = 1 << 60;

/// What happens to the last blocks of an axis when the volume isn't a multiple of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Fit {
    /// Only blocks that write wholly inside the total write region; a rest is left out.
    #[default]
    Valid,
    /// Blocks that begin inside it; the last may stick out.
    Overhang,
    /// Blocks that begin inside it, cut at the total regions.
    Shrink,
}

impl Fit {
    /// All there are.
    pub const ALL: [Fit; 3] = [Fit::Valid, Fit::Overhang, Fit::Shrink];

    /// The name in options: `valid`, `overhang` or `shrink`.
    pub fn name(self) -> &'static str {
        match self {
            Fit::Valid => "valid",
            Fit::Overhang => "overhang",
            Fit::Shrink => "shrink",
        }
    }

    /// Whether blocks that would write beyond the total write region are left out.
    #[inline]
    pub fn only_whole_blocks(self) -> bool {
        match self {
            Fit::Valid => true,
            Fit::Overhang | Fit::Shrink => false,
        }
    }

    /// Whether what a block writes is cut at the total write region.
    #[inline]
    pub fn cuts_writes(self) -> bool {
        match self {
            Fit::Valid | Fit::Overhang => false,
            Fit::Shrink => true,
        }
    }

    /// Whether what a block reads is cut at the total region.
    #[inline]
    pub fn cuts_reads(self) -> bool {
        match self {
            Fit::Valid | Fit::Overhang => false,
            Fit::Shrink => true,
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fit {
    type Err = CoreError;

    fn from_str(name: &str) -> Result<Self, CoreError> {
        Fit::ALL
            .into_iter()
            .find(|fit| fit.name() == name)
            .ok_or_else(|| {
                let [others @ .., last] = Fit::ALL.map(|fit| format!("'{fit}'"));
                let message = format!("must be {} or {last}", others.join(", "));
                CoreError::validation("fit", format!("'{name}'"), message)
            })
    }
}

/// One task: its regions and the rules for its blocks. Checked by [`TaskSpec::validate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// Unique in a graph.
    pub id: String,
    /// All that the task may read.
    pub total_roi: Roi,
    /// What a block reads, relative to `write_roi`; its absolute place doesn't matter.
    pub read_roi: Roi,
    /// What a block writes; lies within `read_roi`.
    pub write_roi: Roi,
    /// How blocks meet the border.
    pub fit: Fit,
    /// Orders blocks of which one writes what another reads.
    pub read_write_conflict: bool,
    /// Further attempts after a failed one; 2 is usual.
    pub max_retries: u32,
    /// Accepts blocks that read nothing of some upstream task; they don't wait for it.
    pub allow_uncovered: bool,
}

impl TaskSpec {
    /// A task with conflicts, two retries and fit `valid`.
    pub fn new(id: impl Into<String>, total_roi: Roi, read_roi: Roi, write_roi: Roi) -> Self {
        Self {
            id: id.into(),
            total_roi,
            read_roi,
            write_roi,
            fit: Fit::Valid,
            read_write_conflict: true,
            max_retries: 2,
            allow_uncovered: false,
        }
    }

    /// Checks everything that can be said of the regions alone. A total of size zero is fine.
    ///
    /// # Errors
    /// [`CoreError::Validation`] with the path `taskId`, `totalRoi`, `readRoi` or `writeRoi`: ranks that differ,
    /// a negative extent, a read or write without volume, a write outside of the read, coordinates beyond
    /// [`MAX_COORDINATE`].
    pub fn validate(&self) -> Result<(), CoreError> {
        if self.id.is_empty() {
            return Err(CoreError::validation("taskId", "''", "must not be empty"));
        }
        let dims = self.total_roi.offset.dims();
        for (path, roi) in self.regions() {
            if roi.offset.dims() != roi.shape.dims() {
                let message = "offset and shape must have the same number of axes";
                return Err(CoreError::validation(path, roi, message));
            }
            if roi.dims() != dims {
                let message = format!(
                    "must have {dims} {} like totalRoi, not {}",
                    if dims == 1 { "axis" } else { "axes" },
                    roi.dims()
                );
                return Err(CoreError::validation(path, roi, message));
            }
            check_extent(path, roi)?;
        }
        let (read, write) = (&self.read_roi, &self.write_roi);
        if !read.contains_roi(write) {
            let message = format!("must lie within readRoi, which is {read}");
            return Err(CoreError::validation("writeRoi", write, message));
        }
        Ok(())
    }

    fn regions(&self) -> [(&'static str, &Roi); 3] {
        [
            ("totalRoi", &self.total_roi),
            ("readRoi", &self.read_roi),
            ("writeRoi", &self.write_roi),
        ]
    }
}

fn check_extent(path: &str, roi: &Roi) -> Result<(), CoreError> {
    for axis in 0..roi.dims() {
        let (begin, extent) = (roi.offset[axis], roi.shape[axis]);
        let least = i64::from(path != "totalRoi");
        if extent < least {
            let message = format!("the extent of axis {axis} must be at least {least}");
            return Err(CoreError::validation(path, roi, message));
        }
        let in_bounds = |value: i64| (-MAX_COORDINATE..=MAX_COORDINATE).contains(&value);
        if !in_bounds(begin) || !begin.checked_add(extent).is_some_and(in_bounds) {
            let message =
                format!("axis {axis} must begin and end within 2^60 voxels of the origin");
            return Err(CoreError::validation(path, roi, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coordinate;

    fn roi(offset: &[i64], shape: &[i64]) -> Roi {
        Roi {
            offset: Coordinate::new(offset).expect("rank"),
            shape: Coordinate::new(shape).expect("rank"),
        }
    }

    fn refusal(total: Roi, read: Roi, write: Roi) -> (String, String) {
        match TaskSpec::new("t", total, read, write).validate() {
            Err(CoreError::Validation { path, message, .. }) => (path, message),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn bad_regions_are_refused_with_path_and_remedy() {
        let good = roi(&[0], &[10]);
        let cases = [
            (roi(&[0], &[-1]), good, good, "totalRoi", "at least 0"),
            (good, roi(&[0], &[0]), good, "readRoi", "at least 1"),
            (good, good, roi(&[0], &[0]), "writeRoi", "at least 1"),
            (good, good, roi(&[3], &[-4]), "writeRoi", "at least 1"),
            (
                good,
                roi(&[0, 0], &[1, 1]),
                good,
                "readRoi",
                "1 axis like totalRoi, not 2",
            ),
            (
                good,
                good,
                roi(&[0, 0], &[1, 1]),
                "writeRoi",
                "1 axis like totalRoi, not 2",
            ),
            (
                roi(&[0], &[1, 1]),
                good,
                good,
                "totalRoi",
                "same number of axes",
            ),
            (
                good,
                good,
                roi(&[-1], &[5]),
                "writeRoi",
                "must lie within readRoi",
            ),
            (
                good,
                good,
                roi(&[5], &[6]),
                "writeRoi",
                "must lie within readRoi",
            ),
            (roi(&[i64::MAX], &[5]), good, good, "totalRoi", "2^60"),
            (roi(&[i64::MIN], &[5]), good, good, "totalRoi", "2^60"),
            (roi(&[0], &[i64::MAX]), good, good, "totalRoi", "2^60"),
        ];
        for (total, read, write, path, remedy) in cases {
            let (at, message) = refusal(total, read, write);
            assert_eq!(at, path);
            assert!(message.contains(remedy), "{message}");
        }
    }

    #[test]
    fn an_empty_total_is_fine() {
        let block = roi(&[0, 0], &[4, 4]);
        let spec = TaskSpec::new("t", roi(&[0, 0], &[0, 9]), block, block);
        assert_eq!(spec.validate(), Ok(()));
    }

    #[test]
    fn fit_names_round_trip_and_unknown_ones_are_refused() {
        for fit in Fit::ALL {
            assert_eq!(fit.name().parse(), Ok(fit));
        }
        let error = "grow".parse::<Fit>().expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "fit: must be 'valid', 'overhang' or 'shrink' (got 'grow')"
        );
    }
}
