//! Plain objects that cross, and their checked conversions.

use napi_derive::napi;
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
