//! Plain objects that cross, and their checked conversions.

use bellis_core::{Coordinate, Roi, TaskIndex, TaskSpec, MAX_DIMS};
use napi_derive::napi;

use crate::error::{Failure, NativeError};

/// The largest number that is exact in JavaScript, and so are its neighbours: 2^53 - 1.
pub(crate) const MAX_SAFE_INTEGER: f64 = ((1u64 << 53) - 1) as f64;

/// A region: begin and extent, safe integers, one per axis.
#[napi(object)]
pub struct NativeRoi {
    /// Begin.
    pub offset: Vec<f64>,
    /// Extent.
    pub shape: Vec<f64>,
}

/// The geometry and the retry rule of a task. Coordinates are safe integers, one per axis.
#[napi(object)]
pub struct NativeTaskSpec {
    /// Name of the task, unique in its graph.
    pub task_id: String,
    /// Begin of the total read region.
    pub total_offset: Vec<f64>,
    /// Extent of the total read region.
    pub total_shape: Vec<f64>,
    /// Begin of the template block's read region.
    pub read_offset: Vec<f64>,
    /// Extent of the template block's read region.
    pub read_shape: Vec<f64>,
    /// Begin of the template block's write region.
    pub write_offset: Vec<f64>,
    /// Extent of the template block's write region.
    pub write_shape: Vec<f64>,
    /// What happens at the upper border.
    #[napi(ts_type = "'valid' | 'overhang' | 'shrink'")]
    pub fit: String,
    /// Whether blocks that touch each other's regions must not run together.
    pub read_write_conflict: bool,
    /// Attempts after the first.
    pub max_retries: u32,
    /// Whether blocks may read nothing that an upstream task writes.
    pub allow_uncovered: bool,
}

impl NativeTaskSpec {
    /// The form that core works with. Errors name the option.
    pub(crate) fn to_core(&self) -> Result<TaskSpec, Failure> {
        Ok(TaskSpec {
            id: self.task_id.clone(),
            total_roi: roi("totalRoi", &self.total_offset, &self.total_shape)?,
            read_roi: roi("readRoi", &self.read_offset, &self.read_shape)?,
            write_roi: roi("writeRoi", &self.write_offset, &self.write_shape)?,
            fit: self.fit.parse()?,
            read_write_conflict: self.read_write_conflict,
            max_retries: self.max_retries,
            allow_uncovered: self.allow_uncovered,
        })
    }
}

/// Edges between positions of tasks, as `[upstream, downstream]`.
pub(crate) fn edges(pairs: &[Vec<u32>]) -> Result<Vec<(TaskIndex, TaskIndex)>, Failure> {
    let edge = |pair: &Vec<u32>| match pair[..] {
        [upstream, downstream] => Ok((TaskIndex(upstream), TaskIndex(downstream))),
        _ => Err(NativeError::internal("an edge is a pair of task positions")),
    };
    pairs.iter().map(edge).collect()
}

fn roi(path: &str, offset: &[f64], shape: &[f64]) -> Result<Roi, Failure> {
    let coordinate = |path: String, entries: &[f64]| {
        Coordinate::new(&integers(&path, entries)?).ok_or_else(|| {
            let message = format!(
                "{path} must have 1 to {MAX_DIMS} axes, not {}",
                entries.len()
            );
            NativeError::validation(path, message)
        })
    };
    let begins_and_extents = offset.iter().zip(shape);
    if begins_and_extents
        .into_iter()
        .any(|(begin, extent)| begin + extent > MAX_SAFE_INTEGER)
    {
        let message = format!("{path} ends beyond 2^53 - 1");
        return Err(NativeError::validation(path, message));
    }
    Ok(Roi {
        offset: coordinate(format!("{path}.offset"), offset)?,
        shape: coordinate(format!("{path}.shape"), shape)?,
    })
}

/// JavaScript's numbers as integers. Those that aren't safe integers are refused.
pub(crate) fn integers(path: &str, entries: &[f64]) -> Result<Vec<i64>, Failure> {
    let integer = |(axis, &entry): (usize, &f64)| {
        if entry.fract() == 0.0 && entry.abs() <= MAX_SAFE_INTEGER {
            return Ok(entry as i64);
        }
        let path = format!("{path}[{axis}]");
        let message = format!("{path} must be a safe integer, not {entry}");
        Err(NativeError::validation(path, message).value(entry.to_string()))
    };
    entries.iter().enumerate().map(integer).collect()
}

/// The entries of a coordinate as JavaScript's numbers.
pub(crate) fn numbers(coordinate: &Coordinate) -> Vec<f64> {
    coordinate.iter().map(|entry| entry as f64).collect()
}

impl From<&Roi> for NativeRoi {
    fn from(roi: &Roi) -> Self {
        Self {
            offset: numbers(&roi.offset),
            shape: numbers(&roi.shape),
        }
    }
}
