//! What lies in a store's directory and beside it: names, and documents written whole.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::arrays::ArrayKind;
use crate::error::TrackingError;
use crate::files::Files;

/// Metadata document of a group or an array.
pub(crate) const DOCUMENT: &str = "zarr.json";
/// One JSON line a run.
pub(crate) const RUNS: &str = "runs.jsonl";
/// The lock. Files that are made on the way to it start with this name and a dot.
pub(crate) const LOCK: &str = "bellis.lock";
/// Ending of files that are renamed into place once they are whole.
const UNFINISHED: &str = ".bellis-tmp";
/// Largest document that is read.
pub(crate) const DOCUMENT_LIMIT: u64 = 16 << 20;
/// Longest part of a store's name in the names of its siblings, in bytes.
const SIBLING_NAME: usize = 64;

/// What a name in a store's directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Document,
    Array(ArrayKind),
    Runs,
    Lock,
    Unfinished,
    Unknown,
}

impl Entry {
    pub(crate) fn of(name: &OsStr) -> Self {
        let Some(name) = name.to_str() else {
            return Self::Unknown;
        };
        match name {
            DOCUMENT => Self::Document,
            RUNS => Self::Runs,
            LOCK => Self::Lock,
            _ if name
                .strip_prefix(LOCK)
                .is_some_and(|rest| rest.starts_with('.')) =>
            {
                Self::Lock
            }
            _ if name.ends_with(UNFINISHED) => Self::Unfinished,
            _ => ArrayKind::by_name(name).map_or(Self::Unknown, Self::Array),
        }
    }
}

/// A name under which a file is made before it is renamed into place.
pub(crate) fn unfinished(path: &Path, owner: &str) -> PathBuf {
    let mut name = path.file_name().map(OsStr::to_owned).unwrap_or_default();
    name.push(format!(".{owner}{UNFINISHED}"));
    path.with_file_name(name)
}

/// The directories beside a store that a migration uses.
#[derive(Debug, Clone)]
pub(crate) struct Siblings {
    /// Where the grown store is built.
    pub(crate) new: PathBuf,
    /// Where the old one waits to be removed.
    pub(crate) old: PathBuf,
}

impl Siblings {
    pub(crate) fn of(store: &Path) -> Self {
        let name = store.file_name().map(OsStr::to_owned).unwrap_or_default();
        let name = sibling_stem(&name);
        let named = |role: &str| store.with_file_name(format!(".{name}.bellis-{role}"));
        Self {
            new: named("new"),
            old: named("old"),
        }
    }
}

/// The store's name, cut and told apart by a hash where it would not leave room for more.
fn sibling_stem(name: &OsString) -> String {
    match name.to_str() {
        Some(name) if name.len() <= SIBLING_NAME => name.to_owned(),
        _ => {
            let text = name.to_string_lossy();
            let mut cut = SIBLING_NAME;
            while !text.is_char_boundary(cut.min(text.len())) {
                cut -= 1;
            }
            let digest = Sha256::digest(name.as_encoded_bytes());
            let tag: String = digest
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("{}-{tag}", &text[..cut.min(text.len())])
        }
    }
}

/// Path of an array's document.
pub(crate) fn array_document(store: &Path, kind: ArrayKind) -> PathBuf {
    store.join(kind.name()).join(DOCUMENT)
}

/// Path of an array's chunk.
pub(crate) fn chunk_path(store: &Path, kind: ArrayKind, axes: usize) -> PathBuf {
    store.join(kind.name()).join(crate::arrays::chunk_key(axes))
}

/// Puts a document in place so that readers see all of it or none.
///
/// With `synced` it is on the disk before it replaces another; without, the caller syncs later.
pub(crate) fn write_document(
    files: &dyn Files,
    path: &Path,
    text: &str,
    owner: &str,
    synced: bool,
) -> Result<(), TrackingError> {
    let made = unfinished(path, owner);
    let write = || -> io::Result<()> {
        files.create(&made, text.as_bytes())?;
        if synced {
            files.sync_file(&made)?;
        }
        files.rename(&made, path)?;
        match path.parent() {
            Some(parent) if synced => files.sync_dir(parent),
            _ => Ok(()),
        }
    };
    write().map_err(|error| {
        // Best effort: what is left is recognised by its name.
        let _ = files.remove_file(&made);
        TrackingError::io(path, "writing it", error)
    })
}
