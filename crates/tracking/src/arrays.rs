//! The arrays of a store: names, types and sizes.

/// One array of a store. All arrays of a store have the same shape, one element a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum ArrayKind {
    /// Not zero where the block has completed.
    Done,
    /// Failed attempts, over all runs.
    Failures,
    /// Elapsed seconds in the block.
    WallSeconds,
    /// User and system CPU seconds.
    CpuSeconds,
    /// Peak resident set size in bytes.
    PeakRssBytes,
    /// Bytes read.
    IoReadBytes,
    /// Bytes written.
    IoWriteBytes,
    /// Reserved, NaN in finished blocks.
    GpuUtilPct,
    /// Reserved, 0.
    GpuMemBytes,
    /// Worker that completed the block; `u32::MAX` for an unnumbered one.
    WorkerId,
    /// When the block became its worker's current one, seconds since the UNIX epoch.
    SentAt,
    /// When it came back, seconds since the UNIX epoch; 0 where nothing was recorded.
    ReturnedAt,
}

impl ArrayKind {
    /// Number of kinds.
    pub const COUNT: usize = 12;

    /// All of them, in the order in which they are created.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Done,
        Self::Failures,
        Self::WallSeconds,
        Self::CpuSeconds,
        Self::PeakRssBytes,
        Self::IoReadBytes,
        Self::IoWriteBytes,
        Self::GpuUtilPct,
        Self::GpuMemBytes,
        Self::WorkerId,
        Self::SentAt,
        Self::ReturnedAt,
    ];

    /// The two arrays that every store has.
    pub const BASIC: [Self; 2] = [Self::Done, Self::Failures];

    /// Name of the array, which is its directory in the group.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failures => "failures",
            Self::WallSeconds => "wall_seconds",
            Self::CpuSeconds => "cpu_seconds",
            Self::PeakRssBytes => "peak_rss_bytes",
            Self::IoReadBytes => "io_read_bytes",
            Self::IoWriteBytes => "io_write_bytes",
            Self::GpuUtilPct => "gpu_util_pct",
            Self::GpuMemBytes => "gpu_mem_bytes",
            Self::WorkerId => "worker_id",
            Self::SentAt => "sent_at",
            Self::ReturnedAt => "returned_at",
        }
    }

    /// Zarr data type.
    pub fn data_type(self) -> &'static str {
        match self {
            Self::Done => "uint8",
            Self::Failures | Self::WorkerId => "uint32",
            Self::WallSeconds | Self::CpuSeconds | Self::GpuUtilPct => "float32",
            Self::PeakRssBytes | Self::IoReadBytes | Self::IoWriteBytes | Self::GpuMemBytes => {
                "uint64"
            }
            Self::SentAt | Self::ReturnedAt => "float64",
        }
    }

    /// Bytes of one element.
    pub fn item_size(self) -> u64 {
        match self.data_type() {
            "uint8" => 1,
            "uint32" | "float32" => 4,
            _ => 8,
        }
    }

    /// Whether elements are floating point numbers.
    pub fn is_float(self) -> bool {
        self.data_type().starts_with("float")
    }

    /// The kind of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Path of an array's only chunk inside its directory: `c/0/0`, one zero an axis.
pub(crate) fn chunk_key(axes: usize) -> String {
    let mut key = String::from("c");
    for _ in 0..axes {
        key.push_str("/0");
    }
    key
}
