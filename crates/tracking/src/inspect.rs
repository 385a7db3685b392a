//! What stands at a tracking path, found out without changing anything.

use std::io;
use std::path::{Path, PathBuf};

use crate::arrays::ArrayKind;
use crate::directory::{Entry, DOCUMENT, DOCUMENT_LIMIT};
use crate::error::{remove_line, LayoutMismatch, TrackingError};
use crate::files::{EntryKind, Files};
use crate::metadata::{self, GroupDocument, NodeDocument};

/// What stands at a tracking path.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing, or an empty directory.
    Nothing,
    /// A group with what a store consists of.
    Store(Box<GroupDocument>),
}

/// How often one starts anew when a store goes away or moves while it is looked at.
const TRIES: usize = 16;

/// Finds the store at a path and does something with it, from the beginning again when it moved or
/// went away meanwhile: another run may carry it over to a grown volume, or remove it. The step gets
/// what [`locate`] gives.
pub(crate) fn located<T>(
    files: &dyn Files,
    path: &Path,
    mut step: impl FnMut(PathBuf, bool) -> Result<T, TrackingError>,
) -> Result<T, TrackingError> {
    let path = std::path::absolute(path)
        .map_err(|error| TrackingError::io(path, "finding the current directory", error))?;
    let mut attempt = || locate(files, &path).and_then(|(path, exists)| step(path, exists));
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if error.is_missing() => {}
            other => return other,
        }
    }
    attempt()
}

/// The path without a link at its end, and whether a directory stands there.
pub(crate) fn locate(files: &dyn Files, path: &Path) -> Result<(PathBuf, bool), TrackingError> {
    let failed = |error| TrackingError::io(path, "looking at it", error);
    let mut path = path.to_owned();
    let mut kind = files.kind(&path).map_err(failed)?;
    if kind == Some(EntryKind::Link) {
        match files.resolve(&path) {
            Ok(resolved) => path = resolved,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TrackingError::broken(
                    &path,
                    "is a link to something that does not exist",
                    "Make the directory that it points to, remove the link, or choose another \
                     tracking path.",
                ));
            }
            Err(error) => return Err(failed(error)),
        }
        kind = files.kind(&path).map_err(failed)?;
    }
    match kind {
        None => Ok((path, false)),
        Some(EntryKind::Directory) => Ok((path, true)),
        Some(_) => Err(TrackingError::broken(
            &path,
            "is a file, not a directory",
            "Choose another tracking path, or move the file away.",
        )),
    }
}

/// Looks into the directory at a tracking path. `expected` is the layout hash wanted, for messages.
pub(crate) fn inspect(
    files: &dyn Files,
    path: &Path,
    expected: Option<&str>,
) -> Result<Found, TrackingError> {
    let names = files
        .list(path)
        .map_err(|error| TrackingError::io(path, "listing it", error))?;
    let entries: Vec<Entry> = names.iter().map(|name| Entry::of(name)).collect();
    if entries.contains(&Entry::Document) {
        let document = path.join(DOCUMENT);
        return inspect_document(files, path, &document, expected);
    }
    if entries.iter().any(|entry| matches!(entry, Entry::Array(_))) {
        return Err(TrackingError::broken(
            path,
            format!("has arrays but no {DOCUMENT}, which says what layout they belong to"),
            format!(
                "Restore it, or delete the store to start fresh:\n    {}",
                remove_line(path)
            ),
        ));
    }
    if let Some(foreign) = names.iter().find(|name| Entry::of(name) == Entry::Unknown) {
        return Err(not_a_store(
            path,
            format!("contains {}", foreign.to_string_lossy()),
        ));
    }
    Ok(Found::Nothing)
}

fn inspect_document(
    files: &dyn Files,
    path: &Path,
    document: &Path,
    expected: Option<&str>,
) -> Result<Found, TrackingError> {
    let bytes = read_document(files, document)?;
    match metadata::parse_node(&bytes) {
        Ok(NodeDocument::Group(group)) => {
            if group.hash.is_some() || holds(files, path, ArrayKind::Done)? {
                Ok(Found::Store(group))
            } else {
                Err(not_a_store(
                    path,
                    "is a zarr group without a layout hash and `done`".into(),
                ))
            }
        }
        Ok(NodeDocument::Array { hash: Some(hash) }) => {
            Err(TrackingError::LayoutMismatch(Box::new(LayoutMismatch {
                path: path.to_owned(),
                stored: Some(hash),
                expected: expected.unwrap_or("a group").to_owned(),
                fields: Vec::new(),
                hint: Some(
                    "It is a bare zarr array, as daisy wrote before its version 2.0.".to_owned(),
                ),
            })))
        }
        Ok(NodeDocument::Array { hash: None }) => Err(not_a_store(
            path,
            "is a zarr array of another program".into(),
        )),
        Err(problem) => Err(broken_document(document, path, &problem)),
    }
}

pub(crate) fn read_document(files: &dyn Files, document: &Path) -> Result<Vec<u8>, TrackingError> {
    files
        .read(document, DOCUMENT_LIMIT)
        .map_err(|error| TrackingError::io(document, "reading it", error))
}

/// A document that doesn't say what it should.
pub(crate) fn broken_document(document: &Path, store: &Path, problem: &str) -> TrackingError {
    TrackingError::broken(
        document,
        problem,
        format!(
            "Restore the file, or delete the store to start fresh:\n    {}",
            remove_line(store)
        ),
    )
}

pub(crate) fn holds(
    files: &dyn Files,
    path: &Path,
    kind: ArrayKind,
) -> Result<bool, TrackingError> {
    let array = path.join(kind.name());
    match files.kind(&array) {
        Ok(kind) => Ok(kind.is_some()),
        Err(error) => Err(TrackingError::io(&array, "looking at it", error)),
    }
}

fn not_a_store(path: &Path, what: String) -> TrackingError {
    TrackingError::broken(
        path,
        format!("{what}; it is not a tracking store and nothing in it was touched"),
        "Choose another tracking path, an empty directory or one that does not exist yet.",
    )
}
