//! Carrying a store over to a grown volume: build a sibling, put it in the old one's place, remove
//! the old one; and what to do when that was cut in the middle.
//!
//! Which directories exist tells where it was cut. The old store is renamed aside only when the new
//! one is whole and on the disk:
//!
//! | store | new | old | cut |
//! |---|---|---|---|
//! | yes | yes | no | while the new one was built: it is removed |
//! | no | yes | yes | between the two renames: the new one is put in place |
//! | yes | no | yes | before the old one was removed: it is removed |

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::arrays::ArrayKind;
use crate::chunk::read_all;
use crate::directory::{
    array_document, chunk_path, write_document, Siblings, DOCUMENT, LOCK, RUNS,
};
use crate::error::{shell_quoted, LockHolder, TrackingError};
use crate::files::{ChunkFile, Files};
use crate::growth::Growth;
use crate::inspect::{broken_document, holds, read_document};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::metadata;
use crate::remap::Remap;
use crate::reset;

/// Largest `runs.jsonl` that is copied where it can't be linked.
const RUNS_LIMIT: u64 = 1 << 30;

/// From which layout to which.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) from: &'a Layout,
    pub(crate) to: &'a Layout,
    pub(crate) growth: &'a Growth,
}

/// What became of the done blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) kept: u64,
    pub(crate) cleared: u64,
}

/// Carries a store over. When it fails the old store is as it was.
pub(crate) fn migrate(
    files: &Arc<dyn Files>,
    path: &Path,
    lock: &Lock,
    plan: Plan<'_>,
    attributes: &Map<String, Value>,
) -> Result<Moved, TrackingError> {
    let siblings = Siblings::of(path);
    let built = build(&**files, path, &siblings.new, lock, plan, attributes)
        .and_then(|moved| lock.verify().map(|()| moved));
    let swapped = built.and_then(|moved| {
        lock.moved_to(path, || swap(&**files, path, &siblings))
            .map_err(|error| TrackingError::io(path, "putting the grown store in place", error))?;
        Ok(moved)
    });
    match swapped {
        Ok(moved) => {
            // What can't be removed now is removed by the next opening.
            let _ = remove_old(&**files, path, &siblings.old);
            Ok(moved)
        }
        Err(error) => {
            let _ = reset::remove_store(&**files, &siblings.new);
            Err(error)
        }
    }
}

fn swap(files: &dyn Files, path: &Path, siblings: &Siblings) -> io::Result<()> {
    files.touch(&siblings.new.join(LOCK))?;
    files.rename(path, &siblings.old)?;
    if let Err(error) = files.rename(&siblings.new, path) {
        let _ = files.rename(&siblings.old, path);
        return Err(error);
    }
    match path.parent() {
        Some(parent) => files.sync_dir(parent),
        None => Ok(()),
    }
}

fn build(
    files: &dyn Files,
    path: &Path,
    new: &Path,
    lock: &Lock,
    plan: Plan<'_>,
    attributes: &Map<String, Value>,
) -> Result<Moved, TrackingError> {
    let failed = |error| TrackingError::io(new, "building the grown store", error);
    files.create_dir_all(new).map_err(failed)?;
    lock.copy_into(new).map_err(failed)?;
    let mut moved = Moved {
        kept: 0,
        cleared: 0,
    };
    std::thread::scope(|scope| {
        // One array goes to the disk while the next is copied.
        let (copied, to_sync) = mpsc::channel();
        let syncing = scope.spawn(move || sync_each(to_sync));
        let arrays = copy_arrays(files, path, new, lock, plan, &copied);
        drop(copied);
        let synced = syncing.join().unwrap_or_else(|_| {
            let error = io::Error::other("the thread that writes to the disk panicked");
            Err(TrackingError::io(new, "building the grown store", error))
        });
        moved = arrays?;
        synced
    })?;
    carry_runs(files, path, new).map_err(failed)?;
    let text = metadata::group_text(&metadata::stamped(attributes.clone(), plan.to));
    write_document(files, &new.join(DOCUMENT), &text, lock.owner(), true)?;
    Ok(moved)
}

/// A chunk that was copied and is to be written to the disk.
type Copied = (PathBuf, Box<dyn ChunkFile>);

fn sync_each(chunks: Receiver<Copied>) -> Result<(), TrackingError> {
    for (path, file) in chunks {
        file.sync()
            .map_err(|error| TrackingError::io(&path, "writing it to the disk", error))?;
    }
    Ok(())
}

/// Copies all arrays, and passes each on to be written to the disk.
fn copy_arrays(
    files: &dyn Files,
    path: &Path,
    new: &Path,
    lock: &Lock,
    plan: Plan<'_>,
    copied: &Sender<Copied>,
) -> Result<Moved, TrackingError> {
    let remap = Remap::new(plan.from, plan.to, plan.growth);
    let mut moved = Moved {
        kept: 0,
        cleared: 0,
    };
    for kind in ArrayKind::ALL {
        if !holds(files, path, kind)? {
            continue;
        }
        let Some(old) = open_old(files, path, kind, plan.from)? else {
            continue;
        };
        if kind == ArrayKind::Done {
            let marks = read_all(&*old, plan.from.cells())
                .map_err(|error| TrackingError::io(&path.join(kind.name()), "reading it", error))?;
            let all = marks.iter().filter(|byte| **byte != 0).count() as u64;
            moved.kept = remap.count_kept(&marks);
            moved.cleared = all - moved.kept;
        }
        let chunk = chunk_path(new, kind, plan.to.axes());
        let target = chunk.parent().unwrap_or(new);
        let copy = || -> io::Result<Box<dyn ChunkFile>> {
            files.create_dir_all(target)?;
            let file = files.create_chunk(&chunk, plan.to.cells() * kind.item_size())?;
            remap.copy(&*old, kind.item_size(), |offset, bytes| {
                file.write_at(bytes, offset)
            })?;
            for directory in target.ancestors().take_while(|at| *at != new) {
                files.sync_dir(directory)?;
            }
            Ok(file)
        };
        let file = copy().map_err(|error| TrackingError::io(&chunk, "copying it", error))?;
        let text = metadata::array_text(kind, &plan.to.grid_shape());
        write_document(files, &array_document(new, kind), &text, lock.owner(), true)?;
        // Nobody listens any more when an earlier one failed, which is told at the end.
        let _ = copied.send((chunk, file));
    }
    Ok(moved)
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

fn carry_runs(files: &dyn Files, path: &Path, new: &Path) -> io::Result<()> {
    let (old, new) = (path.join(RUNS), new.join(RUNS));
    if files.kind(&old)?.is_none() {
        return Ok(());
    }
    if files.link(&old, &new).is_err() {
        files.create(&new, &files.read(&old, RUNS_LIMIT)?)?;
        files.sync_file(&new)?;
    }
    Ok(())
}

/// A lock taken while a cut migration was completed: the lock, whose it was, what was done.
pub(crate) type Finished = (Lock, Option<LockHolder>, &'static str);

/// Ends a migration that was cut between its two renames, when nothing stands at the store's path.
/// Gives the lock of the store that stands there then; `None` when there is still nothing.
pub(crate) fn finish_cut(
    files: &Arc<dyn Files>,
    path: &Path,
    siblings: &Siblings,
    acquire: impl Fn(&Path) -> Result<(Lock, Option<LockHolder>), TrackingError>,
) -> Result<Option<Finished>, TrackingError> {
    let failed = |error| TrackingError::io(path, "completing a migration that was cut", error);
    let new = files.kind(&siblings.new).map_err(failed)?.is_some();
    let old = files.kind(&siblings.old).map_err(failed)?.is_some();
    // Another run may stand between the two renames right now; its lock is in the new directory.
    let acquire = |at: &Path| match acquire(at) {
        Err(TrackingError::Locked { holder, .. }) => Err(TrackingError::Locked {
            path: path.to_owned(),
            holder,
        }),
        other => other,
    };
    match (new, old) {
        (false, false) => Ok(None),
        (false, true) => Err(TrackingError::broken(
            path,
            format!(
                "is gone, but {} holds what it was before it grew",
                siblings.old.display()
            ),
            format!(
                "To take that back:\n    mv {} {}\nTo start fresh:\n    {}",
                shell_quoted(&siblings.old),
                shell_quoted(path),
                crate::error::remove_line(&siblings.old)
            ),
        )),
        (true, false) => {
            // The store itself was removed by hand: what had been built from it is of no use.
            let (lock, _) = acquire(&siblings.new)?;
            reset::empty_store(&**files, &siblings.new)?;
            drop(lock);
            reset::remove_store(&**files, &siblings.new)?;
            Ok(None)
        }
        (true, true) => {
            let (lock, taken_over) = acquire(&siblings.new)?;
            lock.moved_to(path, || {
                files.rename(&siblings.new, path)?;
                match path.parent() {
                    Some(parent) => files.sync_dir(parent),
                    None => Ok(()),
                }
            })
            .map_err(failed)?;
            let _ = remove_old(&**files, path, &siblings.old);
            Ok(Some((
                lock,
                taken_over,
                "a migration that was cut in the middle was completed",
            )))
        }
    }
}

/// Removes what a cut migration left beside a store, whose lock the caller holds.
pub(crate) fn clear_cut(
    files: &dyn Files,
    path: &Path,
    siblings: &Siblings,
) -> Result<Option<&'static str>, TrackingError> {
    let failed = |error| TrackingError::io(path, "clearing a migration that was cut", error);
    let new = files.kind(&siblings.new).map_err(failed)?.is_some();
    let old = files.kind(&siblings.old).map_err(failed)?.is_some();
    match (new, old) {
        (false, false) => Ok(None),
        (true, false) => {
            reset::remove_store(files, &siblings.new)?;
            Ok(Some("a migration that was cut in the middle was undone"))
        }
        (false, true) => {
            remove_old(files, path, &siblings.old)?;
            Ok(Some("what a migration had left behind was removed"))
        }
        (true, true) => Err(TrackingError::broken(
            path,
            format!(
                "was made anew while a cut migration still held what was done in {}",
                siblings.new.display()
            ),
            format!(
                "To take that back, remove the store and run again:\n    {}\nTo keep the store:\n    \
                 rm -rf {} {}",
                crate::error::remove_line(path),
                shell_quoted(&siblings.new),
                shell_quoted(&siblings.old)
            ),
        )),
    }
}

/// Removes the old store. What others put into it moves to the new one.
fn remove_old(files: &dyn Files, path: &Path, old: &Path) -> Result<(), TrackingError> {
    reset::remove_store(files, old)?;
    let failed = |error| TrackingError::io(old, "moving what is left in it", error);
    if files.kind(old).map_err(failed)?.is_none() {
        return Ok(());
    }
    for name in files.list(old).map_err(failed)? {
        let target = path.join(&name);
        if files.kind(&target).map_err(failed)?.is_none() {
            files.rename(&old.join(&name), &target).map_err(failed)?;
        }
    }
    reset::remove_empty(files, old)
}
