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
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::copying::{remove_chunks, Copying};
use crate::directory::{write_document, Siblings, DOCUMENT, LOCK, RUNS};
use crate::error::{shell_quoted, LockHolder, TrackingError};
use crate::files::Files;
use crate::growth::Growth;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
            remove_chunks(&**files, &siblings.old, plan.from.axes());
            let _ = remove_old(&**files, path, &siblings.old);
            Ok(moved)
        }
        Err(error) => {
            // Unless another run took the store over: then it is that one's.
            if lock.verify().is_ok() {
                let _ = reset::remove_store(&**files, &siblings.new);
            }
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
    let copying = Copying {
        files,
        path,
        new,
        owner: lock.owner(),
        plan,
        remap: Remap::new(plan.from, plan.to, plan.growth),
    };
    let moved = copying.copy_arrays()?;
    carry_runs(files, path, new).map_err(failed)?;
    let text = metadata::group_text(&metadata::stamped(attributes.clone(), plan.to));
    write_document(files, &new.join(DOCUMENT), &text, lock.owner(), true)?;
    Ok(moved)
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
    if files.kind(path).map_err(failed)?.is_some() {
        // Another run has just put it there, so what was seen beside it tells nothing.
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
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
            reset::empty_locked(&**files, &siblings.new, lock)?;
            reset::remove_empty(&**files, &siblings.new)?;
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
