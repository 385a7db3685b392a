//! What is known of a finished block.

/// What a worker measured around a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockStats {
    /// Elapsed time, in seconds.
    pub wall_seconds: f64,
    /// User and system time, in seconds.
    pub cpu_seconds: f64,
    /// Peak resident memory, in bytes.
    pub peak_rss_bytes: u64,
    /// Bytes read.
    pub io_read_bytes: u64,
    /// Bytes written.
    pub io_write_bytes: u64,
}

/// What is stored beside the mark of a finished block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRecord {
    /// Measurements, for tasks that ask for them.
    pub stats: Option<BlockStats>,
    /// The worker that finished it; `u32::MAX` for none.
    pub worker_id: u32,
    /// When it became its worker's current block, in UNIX seconds.
    pub sent_at: f64,
    /// When its result came back, in UNIX seconds.
    pub returned_at: f64,
}
