//! Which tracking store a task has and how it is opened.

use std::path::Path;

use bellis_tracking::{Layout, OnLayoutMismatch, OpenOptions, StoredRoi, TrackingStore};

use crate::dto::{integers, NativeRoi, NativeTaskSpec};
use crate::error::Failure;

/// A task's store, not opened yet.
pub(crate) struct StorePlan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) spec: &'a NativeTaskSpec,
    pub(crate) resource_tracking: bool,
    /// `error` or `recreate`.
    pub(crate) on_layout_mismatch: &'a str,
    pub(crate) grown_from: Option<&'a NativeRoi>,
}

impl StorePlan<'_> {
    /// Opens the store, making it where there is none.
    pub(crate) fn open(&self) -> Result<TrackingStore, Failure> {
        let layout = Layout::of_task(&self.spec.to_core()?)?;
        let grown_from = match self.grown_from {
            None => None,
            Some(roi) => Some(StoredRoi {
                offset: integers("grownFrom.offset", &roi.offset)?,
                shape: integers("grownFrom.shape", &roi.shape)?,
            }),
        };
        let options = OpenOptions {
            resource_tracking: self.resource_tracking,
            on_layout_mismatch: match self.on_layout_mismatch {
                "recreate" => OnLayoutMismatch::Recreate,
                _ => OnLayoutMismatch::Error,
            },
            grown_from,
            ..OpenOptions::default()
        };
        Ok(TrackingStore::open(self.path, &layout, options)?)
    }
}
