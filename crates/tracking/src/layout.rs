//! The parameters that decide which block lies in which cell: hashed as daisy 2.0 hashes them, and
//! kept beside the hash so that a grown volume can be told from a changed one.

use bellis_core::Fit;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{FieldDifference, TrackingError};

/// Most axes that a store may have.
pub(crate) const MAX_AXES: usize = bellis_core::MAX_DIMS;
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
    pub(crate) fn end(&self, axis: usize) -> i128 {
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
    /// The spelling that enters the hash.
    fn hashed_name(self) -> &'static str {
        match self {
            Self::Valid => "Valid",
            Self::Overhang => "Overhang",
            Self::Shrink => "Shrink",
        }
    }

    /// The name in options and in the store.
    pub fn name(self) -> &'static str {
        Fit::from(self).name()
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
    pub(crate) fn lower(&self, axis: usize) -> i128 {
        i128::from(self.write.offset[axis]) - i128::from(self.read.offset[axis])
    }

    /// Context above the write region.
    pub(crate) fn upper(&self, axis: usize) -> i128 {
        self.read.end(axis) - self.write.end(axis)
    }

    pub(crate) fn stride(&self, axis: usize) -> i128 {
        i128::from(self.write.shape[axis])
    }

    fn cells_along(&self, axis: usize) -> u128 {
        (i128::from(self.total.shape[axis])).div_ceil_positive(self.stride(axis)) as u128
    }

    /// First cell of a block and number of blocks along an axis, taken by itself.
    pub(crate) fn blocks_along(&self, axis: usize) -> (u64, u64) {
        let extent = i128::from(self.total.shape[axis]) - self.lower(axis) - self.upper(axis);
        let extent = extent.max(0);
        let count = if Fit::from(self.fit).only_whole_blocks() {
            extent / self.stride(axis)
        } else {
            extent.div_ceil_positive(self.stride(axis))
        };
        ((self.lower(axis) / self.stride(axis)) as u64, count as u64)
    }

    /// Number of blocks of the task.
    pub fn blocks(&self) -> u64 {
        (0..self.axes())
            .map(|axis| self.blocks_along(axis).1)
            .product()
    }

    /// Row-major index, among the task's blocks, of the block in a cell; `None` where there is none.
    pub fn block_index(&self, cell: u64) -> Option<u64> {
        if cell >= self.cells() {
            return None;
        }
        let mut rest = cell;
        let (mut index, mut stride) = (0, 1);
        for axis in (0..self.axes()).rev() {
            let extent = self.cells_along(axis) as u64;
            let at = rest.checked_rem(extent)?;
            rest /= extent;
            let (first, count) = self.blocks_along(axis);
            index += at.checked_sub(first).filter(|at| *at < count)? * stride;
            stride *= count;
        }
        Some(index)
    }

    /// Cell of the block with a row-major index; `None` where there is no such block.
    pub fn cell_of(&self, block: u64) -> Option<u64> {
        if block >= self.blocks() {
            return None;
        }
        let mut rest = block;
        let (mut cell, mut stride) = (0, 1);
        for axis in (0..self.axes()).rev() {
            let (first, count) = self.blocks_along(axis);
            let at = rest.checked_rem(count)?;
            rest /= count;
            cell += (first + at) * stride;
            stride *= self.cells_along(axis) as u64;
        }
        Some(cell)
    }

    /// Blocks per axis, each axis taken by itself.
    pub fn block_grid_shape(&self) -> Vec<u64> {
        (0..self.axes())
            .map(|axis| self.blocks_along(axis).1)
            .collect()
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
