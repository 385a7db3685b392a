//! Looking into a store without a run and without its lock.

use std::path::{Path, PathBuf};

use crate::arrays::ArrayKind;
use crate::directory::{array_document, chunk_path, Siblings};
use crate::error::{LayoutMismatch, LockHolder, TrackingError};
use crate::files::{ChunkFile, Files};
use crate::inspect::{broken_document, inspect, locate, read_document, Found};
use crate::layout::Layout;
use crate::{lock, metadata, runs};

/// Bytes read at once; a multiple of every element's size.
const STEP: u64 = 1 << 20;

/// A store that is only read. A run may be writing it meanwhile.
#[derive(Debug)]
pub struct StoreReader<'a> {
    files: &'a dyn Files,
    path: PathBuf,
    hash: Option<String>,
    layout: Option<Layout>,
    shape: Vec<u64>,
}

/// An array's chunk.
#[derive(Debug)]
struct OpenArray {
    length: u64,
    file: Box<dyn ChunkFile>,
}

/// Counts of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreStatus {
    /// Layout hash; `None` for a hand-made store without one.
    pub hash: Option<String>,
    /// Cells per axis.
    pub grid_shape: Vec<u64>,
    /// Blocks of the task; `None` where the layout isn't known.
    pub blocks: Option<u64>,
    /// Blocks that are done.
    pub done: u64,
    /// Blocks that failed and are not done.
    pub failed: u64,
    /// Failed attempts of all blocks and runs.
    pub failed_attempts: u64,
    /// Whether the arrays for measurements are there.
    pub has_resources: bool,
    /// The run that holds the store now.
    pub held_by: Option<LockHolder>,
}

/// A block that failed and is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedCell {
    /// Row-major cell in the store's grid.
    pub cell: u64,
    /// Failed attempts over all runs.
    pub attempts: u32,
}

/// All that is stored for one block. Values are `None` where nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StoredBlock {
    /// Whether it is done.
    pub done: bool,
    /// Failed attempts over all runs.
    pub failures: u32,
    /// Seconds in the block.
    pub wall_seconds: Option<f64>,
    /// CPU seconds.
    pub cpu_seconds: Option<f64>,
    /// Peak resident bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes read.
    pub io_read_bytes: Option<u64>,
    /// Bytes written.
    pub io_write_bytes: Option<u64>,
    /// Worker that finished it; `None` also for one without a number.
    pub worker_id: Option<u32>,
    /// When it became its worker's current block, UNIX seconds.
    pub sent_at: Option<f64>,
    /// When it came back, UNIX seconds.
    pub returned_at: Option<f64>,
}

impl<'a> StoreReader<'a> {
    /// Opens the store at a path; `None` when there is none. With a layout the store must be of it.
    ///
    /// # Errors
    /// What isn't a store, one of another layout, and damaged metadata.
    pub fn open(
        files: &'a dyn Files,
        path: &Path,
        layout: Option<&Layout>,
    ) -> Result<Option<Self>, TrackingError> {
        let path = std::path::absolute(path)
            .map_err(|error| TrackingError::io(path, "finding the current directory", error))?;
        let (path, exists) = locate(files, &path)?;
        let expected = layout.map(Layout::hash);
        if !exists {
            let old = Siblings::of(&path).old;
            let left = files.kind(&old);
            return match left.map_err(|error| TrackingError::io(&old, "looking at it", error))? {
                None => Ok(None),
                Some(_) => Err(TrackingError::broken(
                    &path,
                    "was left in the middle of a migration",
                    "The next run completes it.",
                )),
            };
        }
        let Found::Store(group) = inspect(files, &path, expected.as_deref())? else {
            return Ok(None);
        };
        let stored = group
            .layout
            .filter(|layout| group.hash == Some(layout.hash()));
        if let (Some(layout), Some(expected), Some(hash)) = (layout, expected, &group.hash) {
            if *hash != expected {
                let fields = stored.map_or_else(Vec::new, |stored| stored.differences(layout));
                return Err(TrackingError::LayoutMismatch(Box::new(LayoutMismatch {
                    path,
                    stored: Some(hash.clone()),
                    expected,
                    fields,
                    hint: Some("If the volume has grown, the next run takes it over.".to_owned()),
                })));
            }
        }
        let layout = layout.cloned().or(stored);
        let document = array_document(&path, ArrayKind::Done);
        let shape = match &layout {
            Some(layout) => layout.grid_shape(),
            None => metadata::parse_shape(&read_document(files, &document)?)
                .map_err(|problem| broken_document(&document, &path, &problem))?,
        };
        let reader = Self {
            files,
            path,
            hash: group.hash,
            layout,
            shape,
        };
        for kind in ArrayKind::BASIC {
            reader.open_array(kind)?;
        }
        Ok(Some(reader))
    }

    /// Directory of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layout, where it is known: given at opening, or kept in the store by bellis.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Counts.
    ///
    /// # Errors
    /// Damaged arrays and files that can't be read.
    pub fn status(&self) -> Result<StoreStatus, TrackingError> {
        let mut status = StoreStatus {
            hash: self.hash.clone(),
            grid_shape: self.shape.clone(),
            blocks: self.layout.as_ref().map(Layout::blocks),
            done: 0,
            failed: 0,
            failed_attempts: 0,
            has_resources: self.open_array(ArrayKind::WallSeconds)?.is_some(),
            held_by: lock::holder(self.files, &self.path),
        };
        // Only a hand-made store can have marks where no block is.
        let check = self.layout.as_ref().filter(|_| self.hash.is_none());
        self.scan(ArrayKind::Done, |offset, bytes| match check {
            None => status.done += count_set(bytes),
            Some(layout) => {
                let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
                let held =
                    set.filter(|(index, _)| layout.block_index(offset + *index as u64).is_some());
                status.done += held.count() as u64;
            }
        })?;
        self.each_failure(|_, attempts, done| {
            status.failed_attempts += u64::from(attempts);
            status.failed += u64::from(!done);
        })?;
        Ok(status)
    }

    /// Blocks that are done and that a mask leaves alone: `mask` has a byte for each block of the
    /// task, by its row-major index. Without a known layout that is none.
    ///
    /// # Errors
    /// As [`StoreReader::status`].
    pub fn done_unmasked(&self, mask: &[u8]) -> Result<u64, TrackingError> {
        let mut count = 0;
        let Some(layout) = &self.layout else {
            return Ok(count);
        };
        self.scan(ArrayKind::Done, |offset, bytes| {
            let cells = (offset..).zip(bytes);
            let done = cells.filter(|(_, byte)| **byte != 0);
            let blocks = done.filter_map(|(cell, _)| layout.block_index(cell));
            let masked = |block: u64| mask.get(block as usize).is_some_and(|byte| *byte != 0);
            count += blocks.filter(|block| !masked(*block)).count() as u64;
        })?;
        Ok(count)
    }

    /// Blocks that failed and are not done, by cell. Blocks that never ran because another failed
    /// are not among them.
    ///
    /// # Errors
    /// As [`StoreReader::status`].
    pub fn failed_cells(&self) -> Result<Vec<FailedCell>, TrackingError> {
        let mut failed = Vec::new();
        self.each_failure(|cell, attempts, done| {
            if !done {
                failed.push(FailedCell { cell, attempts });
            }
        })?;
        Ok(failed)
    }

    /// What is stored for a cell.
    ///
    /// # Errors
    /// As [`StoreReader::status`], and a cell outside the grid.
    pub fn block(&self, cell: u64) -> Result<StoredBlock, TrackingError> {
        if cell >= self.shape.iter().product() {
            return Err(TrackingError::Validation {
                path: "block".to_owned(),
                problem: format!("cell {cell} lies outside the store's grid {:?}", self.shape),
            });
        }
        let done = self
            .element::<1>(ArrayKind::Done, cell)?
            .is_some_and(|[byte]| byte != 0);
        let u32_at = |kind| Ok(self.element(kind, cell)?.map(u32::from_le_bytes));
        let u64_at = |kind| Ok(self.element(kind, cell)?.map(u64::from_le_bytes));
        let f32_at = |kind| {
            Ok(self
                .element(kind, cell)?
                .map(f32::from_le_bytes)
                .map(f64::from))
        };
        let f64_at = |kind| Ok(self.element(kind, cell)?.map(f64::from_le_bytes));
        let failures = u32_at(ArrayKind::Failures)?.unwrap_or(0);
        if !done {
            return Ok(StoredBlock {
                done,
                failures,
                ..StoredBlock::default()
            });
        }
        // A finished block that was measured has a NaN here, with daisy as well as with bellis.
        let gpu: Option<f64> = f32_at(ArrayKind::GpuUtilPct)?;
        let measured = gpu.is_some_and(f64::is_nan);
        let returned_at = f64_at(ArrayKind::ReturnedAt)?.filter(|at| *at > 0.0);
        let timed = returned_at.is_some();
        Ok(StoredBlock {
            done,
            failures,
            wall_seconds: f32_at(ArrayKind::WallSeconds)?.filter(|_| measured),
            cpu_seconds: f32_at(ArrayKind::CpuSeconds)?.filter(|_| measured),
            peak_rss_bytes: u64_at(ArrayKind::PeakRssBytes)?.filter(|_| measured),
            io_read_bytes: u64_at(ArrayKind::IoReadBytes)?.filter(|_| measured),
            io_write_bytes: u64_at(ArrayKind::IoWriteBytes)?.filter(|_| measured),
            worker_id: u32_at(ArrayKind::WorkerId)?.filter(|id| timed && *id != u32::MAX),
            sent_at: f64_at(ArrayKind::SentAt)?.filter(|_| timed),
            returned_at,
        })
    }

    /// The lines of `runs.jsonl`, oldest first.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn runs(&self) -> Result<Vec<String>, TrackingError> {
        runs::read(self.files, &self.path)
    }

    /// Calls back with the cell, the attempts and whether it is done, for each block that failed.
    fn each_failure(&self, mut call: impl FnMut(u64, u32, bool)) -> Result<(), TrackingError> {
        let done = self.open_array(ArrayKind::Done)?;
        let check = self.layout.as_ref().filter(|_| self.hash.is_none());
        let mut failed = Ok(());
        self.scan(ArrayKind::Failures, |offset, bytes| {
            for (index, attempts) in bytes.chunks_exact(4).enumerate() {
                let attempts = attempts.try_into().map_or(0, u32::from_le_bytes);
                let cell = offset / 4 + index as u64;
                if attempts == 0 || check.is_some_and(|layout| layout.block_index(cell).is_none()) {
                    continue;
                }
                let mut byte = [0];
                if let Some(OpenArray { file, .. }) = &done {
                    if let Err(error) = file.read_at(&mut byte, cell) {
                        failed = Err(error);
                    }
                }
                call(cell, attempts, byte != [0]);
            }
        })?;
        failed.map_err(|error| {
            TrackingError::io(&self.path.join(ArrayKind::Done.name()), "reading it", error)
        })
    }

    /// Calls back with an array's bytes piece by piece, leaving out holes.
    fn scan(&self, kind: ArrayKind, mut call: impl FnMut(u64, &[u8])) -> Result<(), TrackingError> {
        let Some(OpenArray { length, file }) = self.open_array(kind)? else {
            return Ok(());
        };
        let failed = |error| {
            TrackingError::io(
                &chunk_path(&self.path, kind, self.shape.len()),
                "reading it",
                error,
            )
        };
        let mut buffer = vec![0; STEP.min(length) as usize];
        let mut offset = 0;
        while offset < length {
            match file.next_data(offset).map_err(failed)? {
                // Whole elements only, whatever the grain of the file system's holes is.
                Some(data) => offset = data.max(offset) & !7,
                None => return Ok(()),
            }
            let count = (length.saturating_sub(offset)).min(STEP) as usize;
            file.read_at(&mut buffer[..count], offset).map_err(failed)?;
            call(offset, &buffer[..count]);
            offset += STEP;
        }
        Ok(())
    }

    fn element<const SIZE: usize>(
        &self,
        kind: ArrayKind,
        cell: u64,
    ) -> Result<Option<[u8; SIZE]>, TrackingError> {
        debug_assert_eq!(SIZE as u64, kind.item_size());
        let Some(OpenArray { file, .. }) = self.open_array(kind)? else {
            return Ok(None);
        };
        let mut bytes = [0; SIZE];
        file.read_at(&mut bytes, cell * kind.item_size())
            .map_err(|error| {
                TrackingError::io(
                    &chunk_path(&self.path, kind, self.shape.len()),
                    "reading it",
                    error,
                )
            })?;
        Ok(Some(bytes))
    }

    /// An array's chunk, checked; `None` where the array or its chunk is missing.
    fn open_array(&self, kind: ArrayKind) -> Result<Option<OpenArray>, TrackingError> {
        let document = array_document(&self.path, kind);
        let chunk = chunk_path(&self.path, kind, self.shape.len());
        for path in [&document, &chunk] {
            let found = self.files.kind(path);
            if found
                .map_err(|error| TrackingError::io(path, "looking at it", error))?
                .is_none()
            {
                return Ok(None);
            }
        }
        metadata::check_array(&read_document(self.files, &document)?, kind, &self.shape)
            .map_err(|problem| broken_document(&document, &self.path, &problem))?;
        let failed = |error| TrackingError::io(&chunk, "opening it", error);
        let file = self.files.open_chunk(&chunk, false).map_err(failed)?;
        let found = file.length().map_err(failed)?;
        if chunk_length(&self.shape, kind) != Some(found) {
            let problem = format!("has {found} bytes, which does not fit its shape");
            return Err(broken_document(&chunk, &self.path, &problem));
        }
        Ok(Some(OpenArray {
            length: found,
            file,
        }))
    }
}

/// Bytes of an array's chunk; `None` when no file can hold that.
pub(crate) fn chunk_length(shape: &[u64], kind: ArrayKind) -> Option<u64> {
    shape.iter().try_fold(kind.item_size(), |length, extent| {
        length.checked_mul(*extent)
    })
}

/// Bytes that are not zero.
fn count_set(bytes: &[u8]) -> u64 {
    // In pieces that a byte can count, which the compiler turns into wide instructions.
    bytes
        .chunks(255)
        .map(|piece| u64::from(piece.iter().map(|byte| u8::from(*byte != 0)).sum::<u8>()))
        .sum()
}
