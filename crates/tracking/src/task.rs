//! The store as the scheduler sees it: layouts from tasks, marks by cell.

use bellis_core::{BlockRecord, DoneMap, Fit, RecordError, Roi, TaskSpec};

use crate::error::TrackingError;
use crate::layout::{Layout, StoredFit, StoredRoi};
use crate::store::TrackingStore;

impl From<&Roi> for StoredRoi {
    fn from(roi: &Roi) -> Self {
        Self {
            offset: roi.offset.as_slice().to_vec(),
            shape: roi.shape.as_slice().to_vec(),
        }
    }
}

impl From<Fit> for StoredFit {
    fn from(fit: Fit) -> Self {
        match fit {
            Fit::Valid => Self::Valid,
            Fit::Overhang => Self::Overhang,
            Fit::Shrink => Self::Shrink,
        }
    }
}

impl From<StoredFit> for Fit {
    fn from(fit: StoredFit) -> Self {
        match fit {
            StoredFit::Valid => Self::Valid,
            StoredFit::Overhang => Self::Overhang,
            StoredFit::Shrink => Self::Shrink,
        }
    }
}

impl Layout {
    /// The layout of a task.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn of_task(spec: &TaskSpec) -> Result<Self, TrackingError> {
        Self::new(
            (&spec.total_roi).into(),
            (&spec.read_roi).into(),
            (&spec.write_roi).into(),
            spec.fit.into(),
        )
    }
}

impl From<TrackingError> for RecordError {
    fn from(error: TrackingError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            path: Some(error.path().to_string_lossy().into_owned()),
        }
    }
}

impl DoneMap for TrackingStore {
    fn is_done(&self, cell: u64) -> bool {
        Self::is_done(self, cell)
    }

    fn done_words(&self) -> Option<&[u8]> {
        Some(self.done_bytes())
    }

    fn record_done(&mut self, cell: u64, record: Option<&BlockRecord>) -> Result<(), RecordError> {
        Ok(Self::record_done(self, cell, record)?)
    }

    fn record_undone(&mut self, cell: u64) -> Result<(), RecordError> {
        Ok(Self::record_undone(self, cell)?)
    }

    fn record_failure(&mut self, cell: u64) -> Result<(), RecordError> {
        Ok(Self::record_failure(self, cell)?)
    }
}
