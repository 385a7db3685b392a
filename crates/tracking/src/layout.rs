//! The parameters that decide which block lies in which cell: hashed as daisy 2.0 hashes them, and
//! kept beside the hash so that a grown volume can be told from a changed one.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{FieldDifference, TrackingError};

/// Most axes that a store may have.
pub(crate) const MAX_AXES: usize = 8;
/// Widest cell of any array, in bytes; keeps every chunk's length inside a file offset.
const MAX_CELLS: u128 = (i64::MAX / 16) as u128;

/// A region in voxels as the store keeps it: half-open, `[offset, offset + shape)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRoi {
    /// First voxel of each axis.
    pub offset: Vec<i64>,
    /// Extent of each axis.
    pub shape: Vec<i64>,
}

impl StoredRoi {
    fn end(&self, axis: usize) -> i128 {
        i128::from(self.offset[axis]) + i128::from(self.shape[axis])
    }
}

/// What becomes of blocks at the border, as the store keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredFit {
    /// Only whole blocks.
    Valid,
    /// Blocks may stick out.
    Overhang,
    /// Blocks are clipped.
    Shrink,
}

impl StoredFit {
    pub(crate) const ALL: [Self; 3] = [Self::Valid, Self::Overhang, Self::Shrink];

    /// The spelling that enters the hash.
    fn hashed_name(self) -> &'static str {
        match self {
            Self::Valid => "Valid",
            Self::Overhang => "Overhang",
            Self::Shrink => "Shrink",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Overhang => "overhang",
            Self::Shrink => "shrink",
        }
    }
}

/// The layout of a task: total region read, block template, fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    total: StoredRoi,
    read: StoredRoi,
    write: StoredRoi,
    fit: StoredFit,
}

/// The layout hash of daisy 2.0: lower-case hexadecimal SHA-256 over the three regions and the fit.
pub fn layout_hash(
    total: &StoredRoi,
    read: &StoredRoi,
    write: &StoredRoi,
    fit: StoredFit,
) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"daisy-tracking:v1\n");
    for (label, roi) in [("total", total), ("read", read), ("write", write)] {
        hasher.update(label.as_bytes());
        hasher.update(b":offset=");
        for value in &roi.offset {
            hasher.update(value.to_le_bytes());
            hasher.update(b",");
        }
        hasher.update(b";shape=");
        for value in &roi.shape {
            hasher.update(value.to_le_bytes());
            hasher.update(b",");
        }
        hasher.update(b";");
    }
    hasher.update(b"fit=");
    hasher.update(fit.hashed_name().as_bytes());
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

impl Layout {
    /// A layout from its parts.
    ///
    /// # Errors
    /// Refuses mismatched numbers of axes, sizes that are not positive, a write region that sticks
    /// out of the read region, and grids with more cells than a file can hold.
    pub fn new(
        total: StoredRoi,
        read: StoredRoi,
        write: StoredRoi,
        fit: StoredFit,
    ) -> Result<Self, TrackingError> {
        let refuse = |path: &str, problem: String| {
            Err(TrackingError::Validation {
                path: path.to_owned(),
                problem,
            })
        };
        let axes = total.offset.len();
        if axes == 0 || axes > MAX_AXES {
            return refuse(
                "totalRoi",
                format!("has {axes} axes; 1 to {MAX_AXES} are supported"),
            );
        }
        for (name, roi) in [
            ("totalRoi", &total),
            ("readRoi", &read),
            ("writeRoi", &write),
        ] {
            if roi.offset.len() != axes || roi.shape.len() != axes {
                return refuse(name, format!("must have {axes} axes like totalRoi"));
            }
            let least = i64::from(name != "totalRoi");
            if let Some(shape) = roi.shape.iter().find(|shape| **shape < least) {
                return refuse(name, format!("has a shape of {shape} on one axis"));
            }
        }
        let layout = Self {
            total,
            read,
            write,
            fit,
        };
        for axis in 0..axes {
            if layout.lower(axis) < 0 || layout.upper(axis) < 0 {
                return refuse("writeRoi", format!("sticks out of readRoi on axis {axis}"));
            }
        }
        let mut cells: u128 = 1;
        for axis in 0..axes {
            let extent = layout.cells_along(axis);
            cells = cells
                .checked_mul(extent)
                .filter(|cells| *cells <= MAX_CELLS)
                .unwrap_or(0);
            if cells == 0 && extent > 0 && (0..axis).all(|axis| layout.cells_along(axis) > 0) {
                return refuse(
                    "totalRoi",
                    "has more blocks than a store can hold".to_owned(),
                );
            }
        }
        Ok(layout)
    }

    /// Total region read.
    pub fn total(&self) -> &StoredRoi {
        &self.total
    }

    /// Read region of the block template.
    pub fn read(&self) -> &StoredRoi {
        &self.read
    }

    /// Write region of the block template.
    pub fn write(&self) -> &StoredRoi {
        &self.write
    }

    /// What becomes of blocks at the border.
    pub fn fit(&self) -> StoredFit {
        self.fit
    }

    /// Number of axes.
    pub fn axes(&self) -> usize {
        self.total.offset.len()
    }

    /// Layout hash as daisy 2.0 computes it.
    pub fn hash(&self) -> String {
        layout_hash(&self.total, &self.read, &self.write, self.fit)
    }

    /// Cells per axis: the total region read in steps of a block's write shape, rounded up.
    pub fn grid_shape(&self) -> Vec<u64> {
        (0..self.axes())
            .map(|axis| self.cells_along(axis) as u64)
            .collect()
    }

    /// Number of cells.
    pub fn cells(&self) -> u64 {
        self.grid_shape().iter().product()
    }

    /// The same layout over another total.
    pub(crate) fn with_total(&self, total: StoredRoi) -> Result<Self, TrackingError> {
        Self::new(total, self.read.clone(), self.write.clone(), self.fit)
    }

    pub(crate) fn with_fit(&self, fit: StoredFit) -> Self {
        Self {
            fit,
            ..self.clone()
        }
    }

    /// The same layout with both templates moved by the same vector.
    pub(crate) fn with_templates_moved(&self, by: &[i128]) -> Option<Self> {
        let moved = |roi: &StoredRoi| -> Option<StoredRoi> {
            let mut roi = roi.clone();
            for (offset, by) in roi.offset.iter_mut().zip(by) {
                *offset = i64::try_from(i128::from(*offset).checked_add(*by)?).ok()?;
            }
            Some(roi)
        };
        Some(Self {
            read: moved(&self.read)?,
            write: moved(&self.write)?,
            ..self.clone()
        })
    }

    /// Context below the write region.
    fn lower(&self, axis: usize) -> i128 {
        i128::from(self.write.offset[axis]) - i128::from(self.read.offset[axis])
    }

    /// Context above the write region.
    fn upper(&self, axis: usize) -> i128 {
        self.read.end(axis) - self.write.end(axis)
    }

    fn stride(&self, axis: usize) -> i128 {
        i128::from(self.write.shape[axis])
    }

    fn cells_along(&self, axis: usize) -> u128 {
        (i128::from(self.total.shape[axis])).div_ceil_positive(self.stride(axis)) as u128
    }

    /// First cell of a block and number of blocks along an axis, taken by itself.
    pub(crate) fn blocks_along(&self, axis: usize) -> (u64, u64) {
        let extent = i128::from(self.total.shape[axis]) - self.lower(axis) - self.upper(axis);
        let extent = extent.max(0);
        let count = match self.fit {
            StoredFit::Valid => extent / self.stride(axis),
            _ => extent.div_ceil_positive(self.stride(axis)),
        };
        ((self.lower(axis) / self.stride(axis)) as u64, count as u64)
    }

    /// Number of blocks of the task.
    pub fn blocks(&self) -> u64 {
        (0..self.axes())
            .map(|axis| self.blocks_along(axis).1)
            .product()
    }

    /// Whether a cell holds a block of the task.
    pub(crate) fn holds_block(&self, cell: u64) -> bool {
        let mut rest = cell;
        let shape = self.grid_shape();
        for axis in (0..self.axes()).rev() {
            if shape[axis] == 0 {
                return false;
            }
            let index = rest % shape[axis];
            rest /= shape[axis];
            let (first, count) = self.blocks_along(axis);
            if index < first || index - first >= count {
                return false;
            }
        }
        rest == 0 && self.blocks() > 0
    }

    /// Final read and write intervals of block `index` along an axis.
    fn intervals(&self, axis: usize, index: u64) -> [(i128, i128); 2] {
        let begin = i128::from(self.total.offset[axis]);
        let end = self.total.end(axis);
        let (lower, upper) = (self.lower(axis), self.upper(axis));
        let write = begin + lower + i128::from(index) * self.stride(axis);
        let write = (write, write + self.stride(axis));
        let read = (write.0 - lower, write.1 + upper);
        if self.fit == StoredFit::Shrink {
            let clip =
                |(from, to): (i128, i128), low: i128, high: i128| (from.max(low), to.min(high));
            [
                clip(read, begin, end),
                clip(write, begin + lower, end - upper),
            ]
        } else {
            [read, write]
        }
    }

    /// The fields in which two layouts differ, `self` being the one in the store.
    pub(crate) fn differences(&self, expected: &Self) -> Vec<FieldDifference> {
        let mut fields = Vec::new();
        let mut compare = |field: &str, stored: String, expected: String| {
            if stored != expected {
                fields.push(FieldDifference {
                    field: field.to_owned(),
                    stored,
                    expected,
                });
            }
        };
        let rois = [
            ("totalRoi", &self.total, &expected.total),
            ("readRoi", &self.read, &expected.read),
            ("writeRoi", &self.write, &expected.write),
        ];
        for (name, stored, expected) in rois {
            compare(
                &format!("{name}.offset"),
                format!("{:?}", stored.offset),
                format!("{:?}", expected.offset),
            );
            compare(
                &format!("{name}.shape"),
                format!("{:?}", stored.shape),
                format!("{:?}", expected.shape),
            );
        }
        compare(
            "fit",
            self.fit.name().to_owned(),
            expected.fit.name().to_owned(),
        );
        fields
    }

    /// How a store of layout `self` is carried over to the layout `grown`.
    pub(crate) fn growth_to(&self, grown: &Self) -> Result<Growth, GrowthRefusal> {
        if self.axes() != grown.axes() || self.fit != grown.fit {
            return Err(GrowthRefusal::NotGrown);
        }
        let mut growth = Growth {
            shift: Vec::new(),
            kept: Vec::new(),
        };
        let mut grew = false;
        let mut nearest = grown.total.offset.clone();
        let mut misaligned = false;
        for axis in 0..self.axes() {
            let same = self.stride(axis) == grown.stride(axis)
                && self.lower(axis) == grown.lower(axis)
                && self.upper(axis) == grown.upper(axis);
            let front = i128::from(self.total.offset[axis]) - i128::from(grown.total.offset[axis]);
            let back = grown.total.end(axis) - self.total.end(axis);
            if !same || front < 0 || back < 0 {
                return Err(GrowthRefusal::NotGrown);
            }
            grew |= front > 0 || back > 0;
            let stride = self.stride(axis);
            if front % stride != 0 {
                misaligned = true;
                let steps = (front + stride / 2) / stride;
                let offset = i128::from(self.total.offset[axis]) - steps * stride;
                nearest[axis] = i64::try_from(offset).unwrap_or(self.total.offset[axis]);
            }
            let shift = u64::try_from(front / stride).map_err(|_| GrowthRefusal::NotGrown)?;
            let (_, count) = self.blocks_along(axis);
            let unchanged = |index: u64| {
                self.intervals(axis, index) == grown.intervals(axis, index.saturating_add(shift))
            };
            // Only the last block of an axis can be clipped by the old border.
            let kept = if count > 0 && !unchanged(count - 1) {
                count - 1
            } else {
                count
            };
            growth.shift.push(shift);
            growth.kept.push(kept);
        }
        if !grew {
            return Err(GrowthRefusal::NotGrown);
        }
        if misaligned {
            return Err(GrowthRefusal::FrontMisaligned { nearest });
        }
        Ok(growth)
    }
}

/// How cells move when a volume has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Cells by which each axis moves.
    pub(crate) shift: Vec<u64>,
    /// Blocks at the front of each axis whose regions are unchanged.
    pub(crate) kept: Vec<u64>,
}

/// Why a store can't be carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrowthRefusal {
    /// Something else than a grown total.
    NotGrown,
    /// The front grew by a part of a block.
    FrontMisaligned {
        /// Nearest offset of the total that would be accepted.
        nearest: Vec<i64>,
    },
}

trait DivCeil {
    fn div_ceil_positive(self, by: Self) -> Self;
}

impl DivCeil for i128 {
    /// Quotient rounded up, for a dividend that is not negative and a positive divisor.
    fn div_ceil_positive(self, by: Self) -> Self {
        (self + by - 1) / by
    }
}
