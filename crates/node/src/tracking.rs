//! Looking into tracking stores by path, and removing them. The calls touch the disk, so all resolve
//! later.

use std::path::{Path, PathBuf};

use bellis_core::TaskSpec;
use bellis_tracking::{
    layout_hash, reset, reset_failed, runs, Layout, LockHolder, OpenOptions, StoreReader,
    StoredRoi, SystemFiles,
};
use napi::bindgen_prelude::{AsyncTask, Float64Array, Uint32Array, Uint8Array};
use napi_derive::napi;

use crate::background::{background, Background};
use crate::dto::{NativeRoi, NativeTaskSpec};
use crate::error::Failure;

/// Counts of a store.
#[napi(object, use_nullable = true)]
pub struct NativeStoreStatus {
    /// Layout hash; `null` for a hand-made store without one.
    pub layout_hash: Option<String>,
    /// Cells on each axis.
    pub grid_shape: Vec<f64>,
    /// The layout, for stores that keep it.
    pub layout: Option<NativeStoreLayout>,
    /// Blocks of the task; `null` where the layout isn't known.
    pub blocks: Option<f64>,
    /// Blocks that are done.
    pub done: f64,
    /// Blocks that failed and are not done.
    pub failed: f64,
    /// Failed attempts of all blocks and runs.
    pub failed_attempts: f64,
    /// The arrays for measurements are there.
    pub has_resources: bool,
    /// The run that holds the store now.
    pub held_by: Option<NativeLockHolder>,
}

/// The layout that a store keeps.
#[napi(object)]
pub struct NativeStoreLayout {
    /// Total region that the task reads.
    pub total_roi: NativeRoi,
    /// What a block reads.
    pub read_roi: NativeRoi,
    /// What a block writes.
    pub write_roi: NativeRoi,
    /// What happens at the border.
    #[napi(ts_type = "'valid' | 'overhang' | 'shrink'")]
    pub fit: String,
}

/// Who holds the lock of a store.
#[napi(object)]
pub struct NativeLockHolder {
    /// Its machine.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// Since when, in UNIX seconds.
    pub since: f64,
}

/// Blocks that failed and are not done: entries of the two arrays belong together.
#[napi(object)]
pub struct NativeFailedCells {
    /// Row-major cells of the store's grid.
    pub cells: Float64Array,
    /// Failed attempts over all runs.
    pub attempts: Uint32Array,
}

/// All that is stored for one block; `null` where nothing was recorded.
#[napi(object, use_nullable = true)]
pub struct NativeStoredBlock {
    /// It is done.
    pub done: bool,
    /// Failed attempts over all runs.
    pub failures: u32,
    /// Seconds in the block.
    pub wall_seconds: Option<f64>,
    /// Processor seconds.
    pub cpu_seconds: Option<f64>,
    /// Peak of resident memory, in bytes.
    pub peak_rss_bytes: Option<f64>,
    /// Bytes read.
    pub io_read_bytes: Option<f64>,
    /// Bytes written.
    pub io_write_bytes: Option<f64>,
    /// Worker that finished it.
    pub worker_id: Option<u32>,
    /// When it became its worker's current block, in UNIX seconds.
    pub sent_at: Option<f64>,
    /// When it came back, in UNIX seconds.
    pub returned_at: Option<f64>,
}

/// Runs `look` with the store at a path, or gives nothing when there is none. With a task's geometry the
/// store must be of its layout.
fn look<T>(
    path: &str,
    spec: Option<&NativeTaskSpec>,
    look: impl Fn(&StoreReader) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let layout = spec
        .map(|spec| -> Result<Layout, Failure> { Ok(Layout::of_task(&spec.to_core()?)?) })
        .transpose()?;
    bellis_tracking::look(&SystemFiles, Path::new(path), layout.as_ref(), look)
}

/// Counts of the store at `path`, or `null` when there is none.
#[napi(ts_return_type = "Promise<{ ok: NativeStoreStatus | null } | { error: NativeError }>")]
pub fn store_status(
    path: String,
    spec: Option<NativeTaskSpec>,
) -> AsyncTask<Background<Option<NativeStoreStatus>>> {
    background(move || {
        look(&path, spec.as_ref(), |reader| {
            let status = reader.status()?;
            Ok(NativeStoreStatus {
                layout_hash: status.hash,
                grid_shape: status
                    .grid_shape
                    .iter()
                    .map(|&extent| extent as f64)
                    .collect(),
                layout: reader.layout().map(NativeStoreLayout::from),
                blocks: status.blocks.map(|blocks| blocks as f64),
                done: status.done as f64,
                failed: status.failed as f64,
                failed_attempts: status.failed_attempts as f64,
                has_resources: status.has_resources,
                held_by: status.held_by.map(NativeLockHolder::from),
            })
        })
    })
}

/// Blocks of the store at `path` that are done and that a mask, a byte for each block, leaves alone; or
/// `null` when there is no store.
#[napi(ts_return_type = "Promise<{ ok: number | null } | { error: NativeError }>")]
pub fn store_done_unmasked(
    path: String,
    spec: NativeTaskSpec,
    mask: Uint8Array,
) -> AsyncTask<Background<Option<f64>>> {
    let mask = mask.to_vec();
    background(move || {
        look(&path, Some(&spec), |reader| {
            Ok(reader.done_unmasked(&mask)? as f64)
        })
    })
}

/// Blocks of the store at `path` that failed and are not done, or `null` when there is no store.
#[napi(ts_return_type = "Promise<{ ok: NativeFailedCells | null } | { error: NativeError }>")]
pub fn store_failed_cells(
    path: String,
    spec: Option<NativeTaskSpec>,
) -> AsyncTask<Background<Option<NativeFailedCells>>> {
    background(move || {
        look(&path, spec.as_ref(), |reader| {
            let failed = reader.failed_cells()?;
            Ok(NativeFailedCells {
                cells: Float64Array::new(failed.iter().map(|failed| failed.cell as f64).collect()),
                attempts: Uint32Array::new(failed.iter().map(|failed| failed.attempts).collect()),
            })
        })
    })
}

/// What the store at `path` has for one cell, or `null` when there is no store.
#[napi(ts_return_type = "Promise<{ ok: NativeStoredBlock | null } | { error: NativeError }>")]
pub fn store_block(
    path: String,
    spec: Option<NativeTaskSpec>,
    cell: f64,
) -> AsyncTask<Background<Option<NativeStoredBlock>>> {
    background(move || {
        look(&path, spec.as_ref(), |reader| {
            let block = reader.block(cell as u64)?;
            Ok(NativeStoredBlock {
                done: block.done,
                failures: block.failures,
                wall_seconds: block.wall_seconds,
                cpu_seconds: block.cpu_seconds,
                peak_rss_bytes: block.peak_rss_bytes.map(|bytes| bytes as f64),
                io_read_bytes: block.io_read_bytes.map(|bytes| bytes as f64),
                io_write_bytes: block.io_write_bytes.map(|bytes| bytes as f64),
                worker_id: block.worker_id,
                sent_at: block.sent_at,
                returned_at: block.returned_at,
            })
        })
    })
}

/// The lines of the store's `runs.jsonl`, oldest first, or `null` when there is no store.
#[napi(ts_return_type = "Promise<{ ok: string[] | null } | { error: NativeError }>")]
pub fn store_runs(
    path: String,
    spec: Option<NativeTaskSpec>,
) -> AsyncTask<Background<Option<Vec<String>>>> {
    background(move || look(&path, spec.as_ref(), |reader| Ok(reader.runs()?)))
}

/// Removes the store at `path`; false when there was none.
#[napi(ts_return_type = "Promise<{ ok: boolean } | { error: NativeError }>")]
pub fn store_reset(path: String) -> AsyncTask<Background<bool>> {
    background(move || Ok(reset(Path::new(&path), &OpenOptions::default())?))
}

/// Forgets the failed attempts of blocks that are not done; how many blocks that were.
#[napi(ts_return_type = "Promise<{ ok: number } | { error: NativeError }>")]
pub fn store_reset_failed(path: String) -> AsyncTask<Background<f64>> {
    background(move || Ok(reset_failed(Path::new(&path), &OpenOptions::default())? as f64))
}

/// The lines of `runs.jsonl` in a directory, oldest first; none where there is no such file.
#[napi(ts_return_type = "Promise<{ ok: string[] } | { error: NativeError }>")]
pub fn runs_read(directory: String) -> AsyncTask<Background<Vec<String>>> {
    background(move || Ok(runs::read(&SystemFiles, &PathBuf::from(directory))?))
}

/// Appends one JSON object to `runs.jsonl` in a directory, which must exist.
#[napi(ts_return_type = "Promise<{ ok: null } | { error: NativeError }>")]
pub fn runs_append(directory: String, line: String) -> AsyncTask<Background<()>> {
    background(move || {
        Ok(runs::append(
            &SystemFiles,
            &PathBuf::from(directory),
            &line,
        )?)
    })
}

/// The hash of a task's layout.
pub(crate) fn layout_hash_of(spec: &TaskSpec) -> String {
    let (total, read, write) = (&spec.total_roi, &spec.read_roi, &spec.write_roi);
    layout_hash(&total.into(), &read.into(), &write.into(), spec.fit.into())
}

impl From<&StoredRoi> for NativeRoi {
    fn from(roi: &StoredRoi) -> Self {
        let numbers = |entries: &[i64]| entries.iter().map(|&entry| entry as f64).collect();
        Self {
            offset: numbers(&roi.offset),
            shape: numbers(&roi.shape),
        }
    }
}

impl From<&Layout> for NativeStoreLayout {
    fn from(layout: &Layout) -> Self {
        Self {
            total_roi: layout.total().into(),
            read_roi: layout.read().into(),
            write_roi: layout.write().into(),
            fit: layout.fit().name().to_owned(),
        }
    }
}

impl From<LockHolder> for NativeLockHolder {
    fn from(holder: LockHolder) -> Self {
        Self {
            host: holder.host,
            pid: holder.pid,
            since: holder.since,
        }
    }
}
