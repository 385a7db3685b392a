//! Removing a store: only what is one, only files by known names, never while a run is on.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::arrays::ArrayKind;
use crate::chunk::read_all;
use crate::directory::{array_document, chunk_path, Entry, Siblings, DOCUMENT, LOCK};
use crate::error::TrackingError;
use crate::files::{EntryKind, Files};
use crate::inspect::{broken_document, inspect, located, read_document, Found};
use crate::lock::Lock;
use crate::metadata::{self, GroupDocument};
use crate::migrate;
use crate::options::OpenOptions;

/// Removes the store at a path. Gives false when there is none.
///
/// Files that are none of ours stay, and the directory with them. So does a directory to which the
/// path is a link.
///
/// # Errors
/// Refuses what isn't a tracking store and one that a run holds.
pub fn reset(path: &Path, options: &OpenOptions) -> Result<bool, TrackingError> {
    let files = &options.files;
    let kind = files.kind(path);
    // The next run comes by the link again, so what it leads to stays, as an empty directory.
    let is_link = kind.map_err(|error| TrackingError::io(path, "looking at it", error))?
        == Some(EntryKind::Link);
    let Some((path, lock)) = lock_existing(path, options)? else {
        return Ok(false);
    };
    empty_locked(&**files, &path, lock)?;
    if !is_link {
        remove_empty(&**files, &path)?;
    }
    Ok(true)
}

/// Forgets the failed attempts of blocks that are not done; gives how many blocks that were.
///
/// # Errors
/// As [`reset`], and damaged arrays.
pub fn reset_failed(path: &Path, options: &OpenOptions) -> Result<u64, TrackingError> {
    let files = &*options.files;
    let Some((path, lock)) = lock_existing(path, options)? else {
        return Ok(0);
    };
    let document = array_document(&path, ArrayKind::Failures);
    if files
        .kind(&document)
        .map_err(|e| TrackingError::io(&document, "looking at it", e))?
        .is_none()
    {
        return Ok(0);
    }
    let shape = metadata::parse_shape(&read_document(files, &document)?)
        .map_err(|problem| broken_document(&document, &path, &problem))?;
    let mut arrays = Vec::new();
    for kind in ArrayKind::BASIC {
        let document = array_document(&path, kind);
        metadata::check_array(&read_document(files, &document)?, kind, &shape)
            .map_err(|problem| broken_document(&document, &path, &problem))?;
        let chunk = chunk_path(&path, kind, shape.len());
        let failed = |error| TrackingError::io(&chunk, "opening it", error);
        let file = files.open_chunk(&chunk, true).map_err(failed)?;
        let length = file.length().map_err(failed)?;
        if Some(length) != crate::reader::chunk_length(&shape, kind) {
            let problem = format!("has {length} bytes, which does not fit its shape {shape:?}");
            return Err(broken_document(&chunk, &path, &problem));
        }
        let bytes = read_all(&*file, length).map_err(failed)?;
        arrays.push((chunk, file, bytes));
    }
    let [(_, _, done), (chunk, file, failures)] = arrays.as_slice() else {
        return Ok(0);
    };
    lock.verify()?;
    let mut count = 0;
    let mut clear = || -> io::Result<()> {
        for (cell, (done, failures)) in done.iter().zip(failures.chunks_exact(4)).enumerate() {
            if *done == 0 && failures != [0; 4] {
                file.write_at(&[0; 4], cell as u64 * 4)?;
                count += 1;
            }
        }
        file.sync()
    };
    clear().map_err(|error| TrackingError::io(chunk, "writing to it", error))?;
    Ok(count)
}

/// The store at a path with its lock taken; `None` when there is none.
fn lock_existing(
    path: &Path,
    options: &OpenOptions,
) -> Result<Option<(PathBuf, Lock)>, TrackingError> {
    let files = &options.files;
    located(&**files, path, |path, exists| {
        let siblings = Siblings::of(&path);
        let acquire = |at: &Path| Lock::acquire(files, at, &options.identity, options.lock_timing);
        if !exists {
            let finished = migrate::finish_cut(files, &path, &siblings, acquire)?;
            return Ok(finished.map(|(lock, _, _)| (path, lock)));
        }
        match inspect(&**files, &path, None)? {
            Found::Nothing => return Ok(None),
            Found::Store(group) => check_ours(&**files, &path, &group)?,
        }
        let (lock, _) = acquire(&path)?;
        migrate::clear_cut(&**files, &path, &siblings)?;
        Ok(Some((path, lock)))
    })
}

fn check_ours(files: &dyn Files, path: &Path, group: &GroupDocument) -> Result<(), TrackingError> {
    let ours = match &group.hash {
        Some(hash) => hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => files
            .list(path)
            .map_err(|error| TrackingError::io(path, "listing it", error))?
            .iter()
            .all(|name| Entry::of(name) != Entry::Unknown),
    };
    if ours {
        return Ok(());
    }
    Err(TrackingError::broken(
        path,
        "is not certainly a tracking store: it has no layout hash and files of others",
        "Remove by hand what may go.",
    ))
}

/// Removes what a store consists of, marks first, the document with the hash last, so that a cut
/// never leaves marks without it. The lock stays.
pub(crate) fn empty_store(files: &dyn Files, path: &Path) -> Result<(), TrackingError> {
    let failed = |error| TrackingError::io(path, "removing what is in it", error);
    for kind in ArrayKind::ALL {
        let array = path.join(kind.name());
        if files.kind(&array).map_err(failed)? == Some(EntryKind::Directory) {
            remove_array(files, &array).map_err(failed)?;
        }
    }
    for entry in [Entry::Unfinished, Entry::Runs, Entry::Document] {
        for name in files.list(path).map_err(failed)? {
            if Entry::of(&name) == entry {
                remove_file(files, &path.join(&name)).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// Removes a store whose lock is held, and gives the lock back. Another run may make a new store there
/// at once, so only an empty directory may be removed afterwards.
pub(crate) fn empty_locked(
    files: &dyn Files,
    path: &Path,
    lock: Lock,
) -> Result<(), TrackingError> {
    empty_store(files, path)?;
    let failed = |error| TrackingError::io(path, "removing what is in it", error);
    for name in files.list(path).map_err(failed)? {
        // What runs left that were killed on their way to the lock.
        if Entry::of(&name) == Entry::Lock && name != OsStr::new(LOCK) {
            remove_file(files, &path.join(&name)).map_err(failed)?;
        }
    }
    drop(lock);
    Ok(())
}

/// Removes a store that nobody may use any more, its lock and its directory.
pub(crate) fn remove_store(files: &dyn Files, path: &Path) -> Result<(), TrackingError> {
    let failed = |error| TrackingError::io(path, "removing it", error);
    if files.kind(path).map_err(failed)?.is_none() {
        return Ok(());
    }
    empty_store(files, path)?;
    for name in files.list(path).map_err(failed)? {
        if Entry::of(&name) == Entry::Lock {
            remove_file(files, &path.join(&name)).map_err(failed)?;
        }
    }
    remove_empty(files, path)
}

/// Removes a directory unless there is something in it.
pub(crate) fn remove_empty(files: &dyn Files, path: &Path) -> Result<(), TrackingError> {
    remove_empty_dir(files, path).map_err(|error| TrackingError::io(path, "removing it", error))
}

fn remove_array(files: &dyn Files, array: &Path) -> io::Result<()> {
    let chunks = array.join("c");
    if files.kind(&chunks)? == Some(EntryKind::Directory) {
        remove_chunks(files, &chunks)?;
    }
    for name in files.list(array)? {
        if name == OsStr::new(DOCUMENT) || Entry::of(&name) == Entry::Unfinished {
            remove_file(files, &array.join(name))?;
        }
    }
    remove_empty_dir(files, array)
}

/// Removes `0` inside a directory of chunks, however deep it lies.
fn remove_chunks(files: &dyn Files, directory: &Path) -> io::Result<()> {
    for name in files.list(directory)? {
        let entry = directory.join(&name);
        if name == OsStr::new("0") && files.kind(&entry)? == Some(EntryKind::Directory) {
            remove_chunks(files, &entry)?;
        } else if name == OsStr::new("0") || Entry::of(&name) == Entry::Unfinished {
            remove_file(files, &entry)?;
        }
    }
    remove_empty_dir(files, directory)
}

/// Removes a regular file; anything else by that name stays.
fn remove_file(files: &dyn Files, path: &Path) -> io::Result<()> {
    match files.kind(path)? {
        Some(EntryKind::File) => match files.remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        },
        _ => Ok(()),
    }
}

fn remove_empty_dir(files: &dyn Files, path: &Path) -> io::Result<()> {
    match files.remove_dir(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound
            ) =>
        {
            Ok(())
        }
        // A mount point is left empty.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
        other => other,
    }
}
