//! A look into a store that a run may be carrying over or removing at the same time.

use std::path::Path;

use crate::error::TrackingError;
use crate::files::Files;
use crate::layout::Layout;
use crate::reader::StoreReader;

/// How often one looks before an error is believed.
const LOOKS: usize = 4;

/// Opens the store at a path and looks at something in it; `None` when there is none. With a layout the
/// store must be of it.
///
/// What is read of a store that moves or goes away meanwhile doesn't fit together, and looks damaged. So
/// an error counts only when it is still there at another look.
///
/// # Errors
/// As [`StoreReader::open`], and what `look` gives.
pub fn look<T, E: From<TrackingError>>(
    files: &dyn Files,
    path: &Path,
    layout: Option<&Layout>,
    look: impl Fn(&StoreReader<'_>) -> Result<T, E>,
) -> Result<Option<T>, E> {
    let attempt = || match StoreReader::open(files, path, layout)? {
        Some(reader) => look(&reader).map(Some),
        None => Ok(None),
    };
    let mut result = attempt();
    for _ in 1..LOOKS {
        if result.is_ok() {
            break;
        }
        result = attempt();
    }
    result
}
