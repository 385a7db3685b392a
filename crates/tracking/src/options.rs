//! How a store is opened.

use std::sync::Arc;

use crate::files::Files;
use crate::host::Identity;
use crate::layout::StoredRoi;
use crate::lock::LockTiming;
use crate::system_files::SystemFiles;

/// What to do with a store that was written for another layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLayoutMismatch {
    /// Refuse it.
    #[default]
    Error,
    /// Remove what is in it and start fresh.
    Recreate,
}

/// How a store is opened for a run.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Whether the arrays for measurements are needed; they are added to a store without them.
    pub resource_tracking: bool,
    /// What to do with a store of another layout.
    pub on_layout_mismatch: OnLayoutMismatch,
    /// The total region that a store without our parameters was written for, when the volume has
    /// grown since.
    pub grown_from: Option<StoredRoi>,
    /// Write by position also where a memory map would do.
    pub force_plain_writes: bool,
    /// File operations; another layer for tests.
    pub files: Arc<dyn Files>,
    /// Who this process is; another for tests.
    pub identity: Identity,
    /// How often the lock is renewed and when it is stale.
    pub lock_timing: LockTiming,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            resource_tracking: false,
            on_layout_mismatch: OnLayoutMismatch::Error,
            grown_from: None,
            force_plain_writes: false,
            files: Arc::new(SystemFiles),
            identity: Identity::current(),
            lock_timing: LockTiming::default(),
        }
    }
}
