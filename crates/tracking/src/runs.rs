//! `runs.jsonl`: one line a run, appended, opaque here.

use std::path::Path;

use crate::directory::RUNS;
use crate::error::TrackingError;
use crate::files::Files;

/// Most bytes of a `runs.jsonl` that are read.
const LIMIT: u64 = 1 << 30;

/// Appends one line to `runs.jsonl` in a directory: a store's, or a task's log directory.
///
/// # Errors
/// A line that isn't a JSON object on one line, or a file that can't be written.
pub fn append(files: &dyn Files, directory: &Path, line: &str) -> Result<(), TrackingError> {
    let path = directory.join(RUNS);
    let is_object = matches!(serde_json::from_str(line), Ok(serde_json::Value::Object(_)));
    if line.contains(['\n', '\r']) || !is_object {
        return Err(TrackingError::broken(
            &path,
            "takes one JSON object on one line",
            "This is a defect of bellis: please report it.",
        ));
    }
    files
        .append_line(&path, line.as_bytes())
        .map_err(|error| TrackingError::io(&path, "appending to it", error))
}

/// The lines of a directory's `runs.jsonl`, oldest first; none where there is no file. Lines that a
/// crash tore are left out.
///
/// # Errors
/// A file that can't be read.
pub fn read(files: &dyn Files, directory: &Path) -> Result<Vec<String>, TrackingError> {
    let path = directory.join(RUNS);
    let content = match files.read(&path, LIMIT) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(TrackingError::io(&path, "reading it", error)),
    };
    Ok(content
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
        .filter(|line| matches!(serde_json::from_str(line), Ok(serde_json::Value::Object(_))))
        .map(str::to_owned)
        .collect())
}
