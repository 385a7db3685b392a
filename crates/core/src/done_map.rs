//! What the scheduler asks about earlier runs and what a run records: the tracking store as core sees it.

use std::collections::HashMap;

/// What a worker measured while one block ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockStats {
    /// Wall time in seconds.
    pub wall_seconds: f64,
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// Highest resident memory in bytes.
    pub peak_rss_bytes: u64,
    /// Bytes read.
    pub io_read_bytes: u64,
    /// Bytes written.
    pub io_write_bytes: u64,
}

/// What is kept of a finished block beside that it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRecord {
    /// The worker's measurements, when the task tracks resources.
    pub stats: Option<BlockStats>,
    /// Worker that ran the block; `u32::MAX` for none.
    pub worker_id: u32,
    /// When the block became its worker's current one, UNIX seconds.
    pub sent_at: f64,
    /// When it came back, UNIX seconds.
    pub returned_at: f64,
}

/// A record could not be written; the block must not count as done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RecordError {
    /// The stable code that users see, such as `ERR_BELLIS_STORE`.
    pub code: &'static str,
    /// What failed and why.
    pub message: String,
    /// The file or directory, where there is one.
    pub path: Option<String>,
}

/// Done bits of one task by store cell (row-major in the store grid).
pub trait DoneMap {
    /// True when the cell's block is done. A cell out of range isn't.
    fn is_done(&self, cell: u64) -> bool;

    /// All done bytes, one a cell, when they lie in memory: zero is not done.
    fn done_words(&self) -> Option<&[u8]> {
        None
    }

    /// Records a finished block: its values first, the done bit last.
    ///
    /// # Errors
    /// When the store can't be written; the block then isn't done.
    fn record_done(&mut self, cell: u64, record: Option<&BlockRecord>) -> Result<(), RecordError>;

    /// Takes a done bit back: the block is about to run again. Without effect on one that isn't done.
    ///
    /// # Errors
    /// When the store can't be written.
    fn record_undone(&mut self, cell: u64) -> Result<(), RecordError>;

    /// Counts a failed attempt.
    ///
    /// # Errors
    /// When the store can't be written.
    fn record_failure(&mut self, cell: u64) -> Result<(), RecordError>;
}

/// Done bits in memory, for tests and for runs without a store.
#[derive(Clone, Debug, Default)]
pub struct MemoryDoneMap {
    done: Vec<u8>,
    failures: HashMap<u64, u32>,
    records: HashMap<u64, BlockRecord>,
}

impl MemoryDoneMap {
    /// A map of `cells` cells of which none is done.
    pub fn new(cells: usize) -> Self {
        Self::from_done(vec![0; cells])
    }

    /// A map from done bytes: zero is not done.
    pub fn from_done(done: Vec<u8>) -> Self {
        Self {
            done,
            failures: HashMap::new(),
            records: HashMap::new(),
        }
    }

    /// Failed attempts of a cell.
    pub fn failures(&self, cell: u64) -> u32 {
        self.failures.get(&cell).copied().unwrap_or(0)
    }

    /// What was recorded with a cell's done bit.
    pub fn record(&self, cell: u64) -> Option<&BlockRecord> {
        self.records.get(&cell)
    }

    fn out_of_range(&self, cell: u64) -> RecordError {
        RecordError {
            code: "ERR_BELLIS_STORE",
            message: format!(
                "cell {cell} is outside of a store of {} cells",
                self.done.len()
            ),
            path: None,
        }
    }
}

impl DoneMap for MemoryDoneMap {
    fn is_done(&self, cell: u64) -> bool {
        usize::try_from(cell)
            .ok()
            .and_then(|cell| self.done.get(cell))
            .is_some_and(|&byte| byte != 0)
    }

    fn done_words(&self) -> Option<&[u8]> {
        Some(&self.done)
    }

    fn record_done(&mut self, cell: u64, record: Option<&BlockRecord>) -> Result<(), RecordError> {
        let error = self.out_of_range(cell);
        let byte = usize::try_from(cell)
            .ok()
            .and_then(|cell| self.done.get_mut(cell))
            .ok_or(error)?;
        if let Some(record) = record {
            self.records.insert(cell, *record);
        }
        *byte = 1;
        Ok(())
    }

    fn record_undone(&mut self, cell: u64) -> Result<(), RecordError> {
        let error = self.out_of_range(cell);
        let byte = usize::try_from(cell)
            .ok()
            .and_then(|cell| self.done.get_mut(cell))
            .ok_or(error)?;
        *byte = 0;
        Ok(())
    }

    fn record_failure(&mut self, cell: u64) -> Result<(), RecordError> {
        if cell >= self.done.len() as u64 {
            return Err(self.out_of_range(cell));
        }
        let count = self.failures.entry(cell).or_default();
        *count = count.saturating_add(1);
        Ok(())
    }
}
