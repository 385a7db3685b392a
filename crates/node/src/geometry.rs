//! What can be said of a task from its regions alone.

use bellis_core::BlockGrid;
use napi::bindgen_prelude::{BigInt, Object};
use napi::Env;
use napi_derive::napi;

use crate::dto::{numbers, NativeTaskSpec};
use crate::error::envelope;
use crate::tracking::layout_hash_of;

/// A task's blocks at large.
#[napi(object)]
pub struct NativeTaskDescription {
    /// Blocks on each axis.
    pub block_grid_shape: Vec<f64>,
    /// Cells of a tracking store on each axis.
    pub tracking_grid_shape: Vec<f64>,
    /// Begin of what all blocks may write.
    pub total_write_offset: Vec<f64>,
    /// Extent of what all blocks may write.
    pub total_write_shape: Vec<f64>,
    /// Hash of the layout, in hexadecimal, as daisy computes it.
    pub layout_hash: String,
    /// Number of blocks.
    pub block_count: BigInt,
}

/// Checks a task's regions and describes its blocks.
#[napi(ts_return_type = "{ ok: NativeTaskDescription } | { error: NativeError }")]
pub fn describe_task(env: &Env, spec: NativeTaskSpec) -> napi::Result<Object<'_>> {
    envelope(env, || {
        let core = spec.to_core()?;
        let grid = BlockGrid::new(&core)?;
        let total_write = grid.total_write_roi();
        Ok(NativeTaskDescription {
            block_grid_shape: numbers(grid.shape()),
            tracking_grid_shape: numbers(&grid.store_shape()),
            total_write_offset: numbers(&total_write.offset),
            total_write_shape: numbers(&total_write.shape),
            layout_hash: layout_hash_of(&core),
            block_count: BigInt::from(grid.count()),
        })
    })
}
