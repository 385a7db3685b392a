//! The store of one run: reads and records blocks by cell.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bellis_core::BlockRecord;

use crate::arrays::ArrayKind;
use crate::chunk::Chunk;
use crate::error::{Notice, TrackingError};
use crate::keeper::StoreKeeper;
use crate::layout::Layout;
use crate::lock::Lock;
use crate::open::{self, Opened};
use crate::options::OpenOptions;
use crate::runs;

/// Blocks that count as one batch: files are looked at before the next one is recorded.
const BATCH: u32 = 256;
/// A record that comes this long after the last look begins another batch.
const BATCH_TIME: Duration = Duration::from_millis(5);

/// A tracking store, locked and open for a run.
#[derive(Debug)]
pub struct TrackingStore {
    path: PathBuf,
    layout: Layout,
    cells: u64,
    /// By [`ArrayKind`]; an array that this run doesn't need is not open.
    chunks: [Option<Chunk>; ArrayKind::COUNT],
    resources: bool,
    notices: Vec<Notice>,
    in_batch: u32,
    checked_at: Instant,
    options: OpenOptions,
    keeper: StoreKeeper,
    // Last, so that it is given back after everything else is closed.
    lock: Lock,
}

impl TrackingStore {
    /// Opens the store at a path for a task's layout, making it where there is none.
    ///
    /// What is worth telling the user is in [`TrackingStore::take_notices`] afterwards.
    ///
    /// # Errors
    /// Refuses what isn't a store, a store of another layout (unless the volume has only grown), a
    /// store that another run holds, and damaged files. Nothing is changed then.
    pub fn open(path: &Path, layout: &Layout, options: OpenOptions) -> Result<Self, TrackingError> {
        let opened = open::open(path, layout, &options)?;
        let Opened {
            path,
            lock,
            chunks: open_chunks,
            notices,
            unsynced,
        } = opened;
        let mut chunks: [Option<Chunk>; ArrayKind::COUNT] = Default::default();
        for chunk in open_chunks {
            let kind = chunk.kind();
            chunks[kind as usize] = Some(chunk);
        }
        let kept = chunks.iter().rev().flatten().map(Chunk::kept).collect();
        let keeper = StoreKeeper::new(options.files.clone(), lock.watch(), kept, unsynced);
        Ok(Self {
            path,
            cells: layout.cells(),
            layout: layout.clone(),
            chunks,
            resources: options.resource_tracking,
            notices,
            in_batch: 0,
            checked_at: Instant::now(),
            options,
            keeper,
            lock,
        })
    }

    /// Directory of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layout that it was opened for.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether chunks are written through memory maps.
    pub fn is_mapped(&self) -> bool {
        self.chunks.iter().flatten().all(Chunk::is_mapped)
    }

    /// What happened at opening that the user should be told, once.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// One byte a cell, not zero where the block is done.
    pub fn done_bytes(&self) -> &[u8] {
        self.chunks[ArrayKind::Done as usize]
            .as_ref()
            .map_or(&[], Chunk::marks)
    }

    /// Whether the block of a cell is done. A cell outside the grid is not.
    pub fn is_done(&self, cell: u64) -> bool {
        usize::try_from(cell)
            .ok()
            .and_then(|cell| self.done_bytes().get(cell))
            .is_some_and(|byte| *byte != 0)
    }

    /// Failed attempts of a cell's block, over all runs.
    ///
    /// # Errors
    /// A cell outside the grid, or a file that can't be read.
    pub fn failures(&self, cell: u64) -> Result<u32, TrackingError> {
        self.check_cell(cell)?;
        let mut bytes = [0; 4];
        if let Some(chunk) = &self.chunks[ArrayKind::Failures as usize] {
            chunk
                .read(cell * 4, &mut bytes)
                .map_err(|error| failed(chunk, "reading it", error))?;
        }
        Ok(u32::from_le_bytes(bytes))
    }

    /// Looks at the lengths of all files, before a batch of blocks is recorded. Recording does so
    /// by itself after a pause and after some blocks.
    ///
    /// # Errors
    /// A file that was shortened, lengthened or lost.
    pub fn begin_batch(&mut self) -> Result<(), TrackingError> {
        self.in_batch = 0;
        self.checked_at = Instant::now();
        for chunk in self.chunks.iter().flatten() {
            chunk
                .check_length()
                .map_err(|error| failed(chunk, "checking its length", error))?;
        }
        Ok(())
    }

    /// Marks a block as done: what is known of it first, the mark last.
    ///
    /// Without resource tracking, or for a block that was skipped, `record` is left out or ignored.
    ///
    /// # Errors
    /// A full disk, a broken file, a cell outside the grid: the block is not marked then.
    pub fn record_done(
        &mut self,
        cell: u64,
        record: Option<&BlockRecord>,
    ) -> Result<(), TrackingError> {
        self.check_cell(cell)?;
        self.check_now_and_then()?;
        let record = record.filter(|_| self.resources);
        // Space for all of it before any of it is written.
        self.prepare(ArrayKind::Done, cell)?;
        if let Some(record) = record {
            for kind in &ArrayKind::ALL[ArrayKind::BASIC.len()..] {
                self.prepare(*kind, cell)?;
            }
            self.write_record(cell, record)?;
        }
        self.write(ArrayKind::Done, cell, &[1])
    }

    /// Takes the mark of a block back that is about to run again. What was measured stays until it is
    /// marked again. Nothing is written for a block that isn't done.
    ///
    /// # Errors
    /// As [`TrackingStore::record_done`]: the mark stays then.
    pub fn record_undone(&mut self, cell: u64) -> Result<(), TrackingError> {
        self.check_cell(cell)?;
        if !self.is_done(cell) {
            return Ok(());
        }
        self.check_now_and_then()?;
        self.prepare(ArrayKind::Done, cell)?;
        self.write(ArrayKind::Done, cell, &[0])
    }

    fn write_record(&mut self, cell: u64, record: &BlockRecord) -> Result<(), TrackingError> {
        let (wall, cpu, rss, read, written) = match &record.stats {
            Some(stats) => (
                stats.wall_seconds as f32,
                stats.cpu_seconds as f32,
                stats.peak_rss_bytes,
                stats.io_read_bytes,
                stats.io_write_bytes,
            ),
            None => (0.0, 0.0, 0, 0, 0),
        };
        self.write(ArrayKind::WallSeconds, cell, &wall.to_le_bytes())?;
        self.write(ArrayKind::CpuSeconds, cell, &cpu.to_le_bytes())?;
        self.write(ArrayKind::PeakRssBytes, cell, &rss.to_le_bytes())?;
        self.write(ArrayKind::IoReadBytes, cell, &read.to_le_bytes())?;
        self.write(ArrayKind::IoWriteBytes, cell, &written.to_le_bytes())?;
        self.write(ArrayKind::GpuUtilPct, cell, &f32::NAN.to_le_bytes())?;
        self.write(ArrayKind::GpuMemBytes, cell, &0u64.to_le_bytes())?;
        self.write(ArrayKind::WorkerId, cell, &record.worker_id.to_le_bytes())?;
        self.write(ArrayKind::SentAt, cell, &record.sent_at.to_le_bytes())?;
        self.write(
            ArrayKind::ReturnedAt,
            cell,
            &record.returned_at.to_le_bytes(),
        )
    }

    /// Counts a failed attempt, up to what the array can hold.
    ///
    /// # Errors
    /// As [`TrackingStore::record_done`].
    pub fn record_failure(&mut self, cell: u64) -> Result<(), TrackingError> {
        self.check_now_and_then()?;
        let failures = self.failures(cell)?.saturating_add(1);
        self.prepare(ArrayKind::Failures, cell)?;
        self.write(ArrayKind::Failures, cell, &failures.to_le_bytes())
    }

    /// Writes to the disk from another thread.
    pub fn keeper(&self) -> StoreKeeper {
        self.keeper.clone()
    }

    /// Writes to the disk what was recorded since the last time, and waits for it.
    ///
    /// # Errors
    /// As [`StoreKeeper::flush`].
    pub fn flush(&mut self) -> Result<(), TrackingError> {
        self.keeper.flush()
    }

    /// Flushes and closes; the lock is given back also when that fails.
    ///
    /// # Errors
    /// As [`StoreKeeper::flush`].
    pub fn close(self) -> Result<(), TrackingError> {
        self.keeper.flush()
    }

    /// Appends a run's report, one JSON object without line breaks, to `runs.jsonl`.
    ///
    /// # Errors
    /// A line with line breaks, or a file that can't be written.
    pub fn append_run(&mut self, line: &str) -> Result<(), TrackingError> {
        self.lock.verify()?;
        runs::append(&*self.options.files, &self.path, line)
    }

    fn prepare(&mut self, kind: ArrayKind, cell: u64) -> Result<(), TrackingError> {
        match &mut self.chunks[kind as usize] {
            Some(chunk) => chunk
                .prepare(cell * kind.item_size())
                .map_err(|error| failed(chunk, "reserving space", error)),
            None => Ok(()),
        }
    }

    fn write(&mut self, kind: ArrayKind, cell: u64, bytes: &[u8]) -> Result<(), TrackingError> {
        match &mut self.chunks[kind as usize] {
            Some(chunk) => chunk
                .write(cell * kind.item_size(), bytes)
                .map_err(|error| failed(chunk, "writing to it", error)),
            None => Ok(()),
        }
    }

    fn check_now_and_then(&mut self) -> Result<(), TrackingError> {
        self.in_batch += 1;
        if self.in_batch > BATCH || self.checked_at.elapsed() > BATCH_TIME {
            self.begin_batch()?;
        }
        Ok(())
    }

    fn check_cell(&self, cell: u64) -> Result<(), TrackingError> {
        if cell < self.cells {
            return Ok(());
        }
        Err(TrackingError::broken(
            &self.path,
            format!("has {} cells, and cell {cell} was asked for", self.cells),
            "This is a defect of bellis: please report it.",
        ))
    }
}

fn failed(chunk: &Chunk, doing: &str, error: io::Error) -> TrackingError {
    TrackingError::io(chunk.path(), doing, error)
}
