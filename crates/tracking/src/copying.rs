//! The arrays of a grown store, copied from the old one by a few threads.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::arrays::ArrayKind;
use crate::chunk::read_all;
use crate::directory::{array_document, chunk_path, write_document};
use crate::error::TrackingError;
use crate::files::{ChunkFile, Files};
use crate::inspect::{broken_document, holds, read_document};
use crate::layout::Layout;
use crate::metadata;
use crate::migrate::{Moved, Plan};
use crate::remap::Remap;

/// Threads that copy arrays, and remove them.
const COPIERS: usize = 2;

/// All that those who copy have to know.
pub(crate) struct Copying<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) path: &'a Path,
    pub(crate) new: &'a Path,
    pub(crate) owner: &'a str,
    pub(crate) plan: Plan<'a>,
    pub(crate) remap: Remap,
}

impl Copying<'_> {
    /// Copies all arrays and writes them to the disk, each by one of a few threads: one copies while
    /// another waits for the disk.
    pub(crate) fn copy_arrays(&self) -> Result<Moved, TrackingError> {
        let next = AtomicUsize::new(0);
        let copy_some = || -> Result<Option<Moved>, TrackingError> {
            let mut moved = None;
            while let Some(kind) = ArrayKind::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.copy_array(*kind) {
                    Ok(found) => moved = moved.or(found),
                    Err(error) => {
                        // The others needn't begin another one.
                        next.store(ArrayKind::ALL.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            Ok(moved)
        };
        let results: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = (1..COPIERS).map(|_| scope.spawn(copy_some)).collect();
            let mut results = vec![copy_some()];
            results.extend(others.into_iter().map(|other| {
                other.join().unwrap_or_else(|_| {
                    let error = io::Error::other("a thread that copies panicked");
                    Err(TrackingError::io(
                        self.new,
                        "building the grown store",
                        error,
                    ))
                })
            }));
            results
        });
        let mut moved = None;
        for result in results {
            moved = moved.or(result?);
        }
        Ok(moved.unwrap_or_default())
    }

    /// Copies one array, if the store has it. Gives what became of the done blocks for their array.
    fn copy_array(&self, kind: ArrayKind) -> Result<Option<Moved>, TrackingError> {
        let Self {
            files,
            path,
            new,
            owner,
            plan,
            remap,
        } = self;
        if !holds(*files, path, kind)? {
            return Ok(None);
        }
        let Some(old) = open_old(*files, path, kind, plan.from)? else {
            return Ok(None);
        };
        let mut moved = None;
        if kind == ArrayKind::Done {
            let marks = read_all(&*old, plan.from.cells())
                .map_err(|error| TrackingError::io(&path.join(kind.name()), "reading it", error))?;
            let all = marks.iter().filter(|byte| **byte != 0).count() as u64;
            let kept = remap.count_kept(&marks);
            let cleared = all - kept;
            moved = Some(Moved { kept, cleared });
        }
        let chunk = chunk_path(new, kind, plan.to.axes());
        let target = chunk.parent().unwrap_or(new);
        let copy = || -> io::Result<Box<dyn ChunkFile>> {
            files.create_dir_all(target)?;
            let file = files.create_chunk(&chunk, plan.to.cells() * kind.item_size())?;
            remap.copy(&*old, kind.item_size(), |offset, bytes| {
                file.write_at(bytes, offset)
            })?;
            for directory in target.ancestors().take_while(|at| at != new) {
                files.sync_dir(directory)?;
            }
            Ok(file)
        };
        let file = copy().map_err(|error| TrackingError::io(&chunk, "copying it", error))?;
        let text = metadata::array_text(kind, &plan.to.grid_shape());
        write_document(*files, &array_document(new, kind), &text, owner, true)?;
        file.sync()
            .map_err(|error| TrackingError::io(&chunk, "writing it to the disk", error))?;
        Ok(moved)
    }
}

/// An array of the old store; `None` where its chunk is missing, which holds only zeros.
fn open_old(
    files: &dyn Files,
    path: &Path,
    kind: ArrayKind,
    layout: &Layout,
) -> Result<Option<Box<dyn ChunkFile>>, TrackingError> {
    let document = array_document(path, kind);
    let bytes = read_document(files, &document)?;
    metadata::check_array(&bytes, kind, &layout.grid_shape())
        .map_err(|problem| broken_document(&document, path, &problem))?;
    let chunk = chunk_path(path, kind, layout.axes());
    let failed = |error| TrackingError::io(&chunk, "opening it", error);
    if files.kind(&chunk).map_err(failed)?.is_none() {
        return Ok(None);
    }
    let file = files.open_chunk(&chunk, false).map_err(failed)?;
    let found = file.length().map_err(failed)?;
    let length = layout.cells() * kind.item_size();
    if found != length {
        let problem = format!("has {found} bytes and should have {length}");
        return Err(broken_document(&chunk, path, &problem));
    }
    Ok(Some(file))
}

/// Removes the large files of the old store, as far as they can be: one after another they take the
/// file system a third of the time that copying them takes.
pub(crate) fn remove_chunks(files: &dyn Files, old: &Path, axes: usize) {
    let next = AtomicUsize::new(0);
    let remove_some = || {
        while let Some(kind) = ArrayKind::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _ = files.remove_file(&chunk_path(old, *kind, axes));
        }
    };
    thread::scope(|scope| {
        for _ in 1..COPIERS {
            scope.spawn(remove_some);
        }
        remove_some();
    });
}
