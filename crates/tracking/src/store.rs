//! The store of one run: reads and records blocks by cell.

use std::io;
use std::path::{Path, PathBuf};

use bellis_core::BlockRecord;

use crate::arrays::ArrayKind;
use crate::chunk::Chunk;
use crate::error::{Notice, TrackingError};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::open::{self, Opened};
use crate::options::OpenOptions;
use crate::runs;
use crate::sync::{Syncer, Work};

/// Blocks recorded between two looks at the files' lengths, when nobody asks for one earlier.
const RECORDS_PER_CHECK: u32 = 64;

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
    unsynced: Vec<PathBuf>,
    since_check: u32,
    options: OpenOptions,
    syncer: Syncer,
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
        let syncer = Syncer::start(lock.watch())
            .map_err(|error| TrackingError::io(&path, "starting a thread", error))?;
        Ok(Self {
            path,
            cells: layout.cells(),
            layout: layout.clone(),
            chunks,
            resources: options.resource_tracking,
            notices,
            unsynced,
            since_check: 0,
            options,
            syncer,
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
        self.chunk(ArrayKind::Done)
            .and_then(Chunk::bytes)
            .unwrap_or_default()
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
        match self.chunk(ArrayKind::Failures) {
            Some(chunk) => chunk
                .read(cell * 4, &mut bytes)
                .map_err(|error| self.failed(ArrayKind::Failures, "reading it", error))?,
            None => return Ok(0),
        }
        Ok(u32::from_le_bytes(bytes))
    }

    /// Looks at the lengths of all files, before a batch of blocks is recorded.
    ///
    /// # Errors
    /// A file that was shortened, lengthened or lost.
    pub fn begin_batch(&mut self) -> Result<(), TrackingError> {
        self.since_check = 0;
        for chunk in self.chunks.iter().flatten() {
            chunk
                .check_length()
                .map_err(|error| self.failed(chunk.kind(), "checking its length", error))?;
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

    /// Starts writing to the disk on another thread what was recorded since the last time, and
    /// reports what went wrong with an earlier one. Gives back at once; while one is under way
    /// another is not started.
    ///
    /// # Errors
    /// A failed write, or a lock that is no longer this run's.
    pub fn flush(&mut self) -> Result<(), TrackingError> {
        if self.syncer.is_idle()? {
            let work = self.take_work();
            self.syncer.start_work(work);
        }
        Ok(())
    }

    /// Writes everything to the disk and waits for it.
    ///
    /// # Errors
    /// As [`TrackingStore::flush`].
    pub fn sync(&mut self) -> Result<(), TrackingError> {
        self.syncer.wait()?;
        let work = self.take_work();
        self.syncer.start_work(work);
        self.syncer.wait()
    }

    /// Syncs and closes; the lock is given back also when that fails.
    ///
    /// # Errors
    /// As [`TrackingStore::flush`].
    pub fn close(mut self) -> Result<(), TrackingError> {
        self.sync()
    }

    /// Appends a run's report, one JSON object without line breaks, to `runs.jsonl`.
    ///
    /// # Errors
    /// A line with line breaks, or a file that can't be written.
    pub fn append_run(&mut self, line: &str) -> Result<(), TrackingError> {
        self.lock.verify()?;
        runs::append(&*self.options.files, &self.path, line)
    }

    fn take_work(&mut self) -> Work {
        let mut work = Work {
            made: std::mem::take(&mut self.unsynced),
            ..Work::default()
        };
        for chunk in self.chunks.iter_mut().rev().flatten() {
            if chunk.take_dirty() {
                work.chunks
                    .push((self.path.join(chunk.kind().name()), chunk.file().clone()));
            }
        }
        work.files = Some(self.options.files.clone());
        work
    }

    fn chunk(&self, kind: ArrayKind) -> Option<&Chunk> {
        self.chunks[kind as usize].as_ref()
    }

    fn prepare(&mut self, kind: ArrayKind, cell: u64) -> Result<(), TrackingError> {
        let size = kind.item_size();
        match &mut self.chunks[kind as usize] {
            Some(chunk) => chunk
                .prepare(cell * size, size)
                .map_err(|error| self.failed(kind, "reserving space", error)),
            None => Ok(()),
        }
    }

    fn write(&mut self, kind: ArrayKind, cell: u64, bytes: &[u8]) -> Result<(), TrackingError> {
        match &mut self.chunks[kind as usize] {
            Some(chunk) => chunk
                .write(cell * kind.item_size(), bytes)
                .map_err(|error| self.failed(kind, "writing to it", error)),
            None => Ok(()),
        }
    }

    fn check_now_and_then(&mut self) -> Result<(), TrackingError> {
        self.since_check += 1;
        if self.since_check >= RECORDS_PER_CHECK {
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

    fn failed(&self, kind: ArrayKind, doing: &str, error: io::Error) -> TrackingError {
        let path = crate::directory::chunk_path(&self.path, kind, self.layout.axes());
        TrackingError::io(&path, doing, error)
    }
}

impl Drop for TrackingStore {
    fn drop(&mut self) {
        // The lock is given back after what was started has ended.
        let _ = self.syncer.wait();
    }
}
