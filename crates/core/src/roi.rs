//! A half-open region `[offset, offset + shape)`.

use std::fmt;

use crate::Coordinate;

/// A half-open region in voxels. `shape` may have zero entries (an empty region keeps its place).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Roi {
    /// First voxel.
    pub offset: Coordinate,
    /// Extent per axis.
    pub shape: Coordinate,
}

impl Roi {
    /// A region; `None` when ranks differ, an extent is negative or an end overflows.
    pub fn new(offset: Coordinate, shape: Coordinate) -> Option<Self> {
        if shape.iter().any(|extent| extent < 0) {
            return None;
        }
        offset.checked_add(&shape)?;
        Some(Self { offset, shape })
    }

    /// A region from slices; `None` as for [`Roi::new`] or for a rank out of bounds.
    pub fn from_slices(offset: &[i64], shape: &[i64]) -> Option<Self> {
        Self::new(Coordinate::new(offset)?, Coordinate::new(shape)?)
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.offset.dims()
    }

    /// First voxel.
    pub fn begin(&self) -> Coordinate {
        self.offset
    }

    /// One past the last voxel. Saturates for a region that wasn't made by [`Roi::new`].
    pub fn end(&self) -> Coordinate {
        Coordinate::from_fn(self.dims(), |axis| self.end_on(axis))
    }

    #[inline]
    fn end_on(&self, axis: usize) -> i64 {
        self.offset[axis].saturating_add(self.shape[axis])
    }

    /// True when some extent is zero.
    pub fn is_empty(&self) -> bool {
        self.shape.iter().any(|extent| extent <= 0)
    }

    /// Number of voxels, `None` beyond `i128`.
    pub fn size(&self) -> Option<i128> {
        self.shape.product()
    }

    /// True when `other` lies between this region's begin and end; an empty region in bounds is contained.
    pub fn contains_roi(&self, other: &Roi) -> bool {
        self.dims() == other.dims()
            && (0..self.dims()).all(|axis| {
                self.offset[axis] <= other.offset[axis] && other.end_on(axis) <= self.end_on(axis)
            })
    }

    /// True when the point lies in the region; the end is outside.
    pub fn contains_point(&self, point: &Coordinate) -> bool {
        self.dims() == point.dims()
            && (0..self.dims())
                .all(|axis| self.offset[axis] <= point[axis] && point[axis] < self.end_on(axis))
    }

    /// True when the regions share a voxel. Symmetric; an empty region meets nothing.
    pub fn intersects(&self, other: &Roi) -> bool {
        self.dims() == other.dims()
            && (0..self.dims()).all(|axis| {
                self.offset[axis].max(other.offset[axis])
                    < self.end_on(axis).min(other.end_on(axis))
            })
    }

    /// The common region; without one it is empty, at the larger of the begins. `None` when ranks differ.
    pub fn intersect(&self, other: &Roi) -> Option<Roi> {
        let offset = self.offset.max(&other.offset)?;
        let end = self.end().min(&other.end())?;
        let shape = Coordinate::from_fn(self.dims(), |axis| {
            end[axis].saturating_sub(offset[axis]).max(0)
        });
        Some(Roi { offset, shape })
    }

    /// The smallest region that holds both; the union with an empty region is the other one.
    /// `None` when ranks differ or the extent overflows.
    pub fn union(&self, other: &Roi) -> Option<Roi> {
        let offset = self.offset.min(&other.offset)?;
        if self.is_empty() {
            return Some(*other);
        }
        if other.is_empty() {
            return Some(*self);
        }
        let end = self.end().max(&other.end())?;
        Roi::new(offset, end.checked_sub(&offset)?)
    }

    /// Moves the begin by `-below` and the end by `above`; negative entries shrink, down to an extent of zero.
    /// `None` on overflow or when ranks differ.
    pub fn grow(&self, below: &Coordinate, above: &Coordinate) -> Option<Roi> {
        let offset = self.offset.checked_sub(below)?;
        let shape = self.shape.checked_add(below)?.checked_add(above)?;
        Roi::new(offset, shape.max(&Coordinate::splat(shape.dims(), 0))?)
    }

    /// The region moved by a vector; `None` on overflow or when ranks differ.
    pub fn shift(&self, by: &Coordinate) -> Option<Roi> {
        Roi::new(self.offset.checked_add(by)?, self.shape)
    }
}

impl fmt::Display for Roi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roi({}, {})", self.offset, self.shape)
    }
}
