//! Writing to the disk what was recorded, from any thread, so that a slow disk holds up nobody.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::TrackingError;
use crate::files::{ChunkFile, EntryKind, Files};
use crate::lock::LockWatch;

/// Writes a store's files to the disk. Made by [`TrackingStore::keeper`](crate::TrackingStore::keeper)
/// for a thread other than the one that records.
#[derive(Debug, Clone)]
pub struct StoreKeeper(Arc<Shared>);

/// A chunk file as the keeper sees it: whether it was written since it was last synced.
#[derive(Debug, Clone)]
pub(crate) struct KeptChunk {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn ChunkFile>,
    pub(crate) dirty: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shared {
    files: Arc<dyn Files>,
    lock: LockWatch,
    /// Values before marks.
    chunks: Vec<KeptChunk>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Documents and directories that were made and are not on the disk for sure.
    made: Vec<PathBuf>,
    /// An earlier failure. The system forgets what it could not write, so that a later success
    /// would prove nothing: nothing more is written to the disk.
    failed: Option<(PathBuf, String)>,
}

impl StoreKeeper {
    pub(crate) fn new(
        files: Arc<dyn Files>,
        lock: LockWatch,
        chunks: Vec<KeptChunk>,
        made: Vec<PathBuf>,
    ) -> Self {
        let state = Mutex::new(State { made, failed: None });
        Self(Arc::new(Shared {
            files,
            lock,
            chunks,
            state,
        }))
    }

    /// Writes to the disk what was recorded since the last time: values first, marks last. Waits
    /// for it; another thread may go on recording.
    ///
    /// # Errors
    /// A lock that is no longer this run's, or a failed write. After a failed one each later call
    /// fails as well.
    pub fn flush(&self) -> Result<(), TrackingError> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, problem)) = &state.failed {
            return Err(TrackingError::broken(
                path,
                format!("nothing is written since an earlier failure: {problem}"),
                "",
            ));
        }
        let result = self
            .0
            .lock
            .verify()
            .and_then(|()| self.0.write(&mut state.made));
        if let Err(error) = &result {
            state.failed = Some((error.path().to_owned(), error.to_string()));
        }
        result
    }
}

impl Shared {
    fn write(&self, made: &mut Vec<PathBuf>) -> Result<(), TrackingError> {
        for path in made.drain(..) {
            let sync = || match self.files.kind(&path)? {
                Some(EntryKind::Directory) => self.files.sync_dir(&path),
                Some(_) => self.files.sync_file(&path),
                None => Ok(()),
            };
            sync().map_err(|error| TrackingError::io(&path, "writing it to the disk", error))?;
        }
        for chunk in &self.chunks {
            // What is written from here on sets it again and is synced next time.
            if chunk.dirty.swap(false, Ordering::AcqRel) {
                chunk.file.sync().map_err(|error| {
                    TrackingError::io(&chunk.path, "writing it to the disk", error)
                })?;
            }
        }
        Ok(())
    }
}
