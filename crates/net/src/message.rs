//! What driver and worker say to each other, once the channel between them is encrypted.
//!
//! `schema.txt` says the same in words that don't depend on Rust; its hash is part of the greeting.
//! The order of variants and fields is the wire format (postcard).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::block_list::{BlockList, ResultList};

/// From a worker to its driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkerMessage {
    /// First message of a new worker.
    Hello(Hello),
    /// First message of a worker that was connected before.
    Resume(Resume),
    /// The worker's code wants blocks and can run `n` at once; 0 takes the demand back.
    Acquire {
        /// Blocks that can run at once.
        n: u32,
    },
    /// Blocks that ended, in order of their ends.
    Released {
        /// One each.
        results: ResultList,
    },
    /// Unstarted blocks handed back: the one answer to each `Retract`, or on the worker's own account.
    Returned {
        /// Which.
        blocks: BlockList,
    },
    /// The worker is alive. Answered by `Pong`.
    Heartbeat {
        /// The worker's monotonic clock, in nanoseconds.
        sent: u64,
        /// Nanoseconds of the shortest recent round trip of a heartbeat.
        round_trip: Option<u64>,
        /// (block, nanoseconds it has been running).
        running: Vec<(u64, u64)>,
    },
    /// The worker can't work at all.
    Unusable {
        /// The whole run should end.
        fatal: bool,
        /// Why.
        error: ErrorReport,
    },
    /// The worker leaves with nothing running.
    Goodbye,
    /// The worker's process is about to end of its own accord.
    Exiting {
        /// The exit code.
        code: i32,
        /// Blocks that run just now.
        running: BlockList,
    },
}

/// From the driver to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DriverMessage {
    /// First answer: the peer is a worker.
    Welcome(Box<Welcome>),
    /// Run these blocks in this order.
    Grant {
        /// Nothing may run beside any of them.
        alone: bool,
        /// Which.
        blocks: BlockList,
    },
    /// Hand these back if they haven't started. Answered by one `Returned`.
    Retract {
        /// Which.
        blocks: BlockList,
    },
    /// Answers a `Heartbeat`.
    Pong {
        /// `sent` of that heartbeat.
        echo: u64,
        /// `Released` messages received so far in the worker's life.
        received: u64,
    },
    /// Take no further block, finish what runs, leave.
    Shutdown {
        /// Why.
        reason: ShutdownReason,
    },
    /// The driver closes the connection right after this.
    Closing {
        /// Why.
        reason: CloseReason,
    },
}

/// What a new worker says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The task that it works for.
    pub task: String,
    /// The number in its context; none for a worker that came by itself.
    pub worker: Option<u32>,
    /// Its process, for messages.
    pub pid: u32,
    /// Its machine's name, for messages.
    pub machine: String,
}

/// What a worker says that lost its connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// From the last `Welcome`.
    pub token: ResumeToken,
    /// Every block in its hands: running, waiting, or finished and not acknowledged.
    pub held: BlockList,
}

/// Proves that a connection belongs to a worker that was connected before. Random; never shown.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeToken(pub [u8; 16]);

impl fmt::Debug for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ResumeToken(..)")
    }
}

/// What a worker has to know before its first block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its number in the run, which may differ from the one in its context.
    pub worker: u32,
    /// For a connection that comes back.
    pub token: ResumeToken,
    /// `Released` messages received so far in the worker's life; 0 for a new one.
    pub received: u64,
    /// What the task is. Empty (`None`) when a worker resumes.
    pub task: Option<TaskSetup>,
}

/// A task as its workers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSetup {
    /// Its geometry.
    pub geometry: TaskGeometry,
    /// How long a block may run, in milliseconds.
    pub timeout_millis: u64,
    /// Whether results must carry measurements.
    pub resource_tracking: bool,
    /// Whether an error that a block threw ends the worker.
    pub restart_on_error: bool,
    /// Blocks that a worker runs at once.
    pub concurrency: u32,
    /// Where log files go.
    pub log_dir: Option<String>,
    /// Which function to run, in the embedder's own words.
    pub function: String,
    /// The user's settings for it, in the embedder's own encoding.
    pub config: Bytes,
}

/// Regions of a task. All vectors have one entry for each axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGeometry {
    /// Name.
    pub task_id: String,
    /// Begin of the total Roi.
    pub total_offset: Vec<i64>,
    /// Extent of the total Roi.
    pub total_shape: Vec<i64>,
    /// Begin of the read Roi of one block.
    pub read_offset: Vec<i64>,
    /// Its extent.
    pub read_shape: Vec<i64>,
    /// Begin of the write Roi of one block.
    pub write_offset: Vec<i64>,
    /// Its extent.
    pub write_shape: Vec<i64>,
    /// What happens at the far end.
    pub fit: Fit,
    /// Whether neighbours may not run together.
    pub read_write_conflict: bool,
}

/// What happens to blocks that don't fit at the far end of the total Roi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fit {
    /// Left out.
    Valid,
    /// Stick out.
    Overhang,
    /// Made smaller.
    Shrink,
}

impl From<bellis_core::Fit> for Fit {
    fn from(fit: bellis_core::Fit) -> Self {
        match fit {
            bellis_core::Fit::Valid => Self::Valid,
            bellis_core::Fit::Overhang => Self::Overhang,
            bellis_core::Fit::Shrink => Self::Shrink,
        }
    }
}

impl From<Fit> for bellis_core::Fit {
    fn from(fit: Fit) -> Self {
        match fit {
            Fit::Valid => Self::Valid,
            Fit::Overhang => Self::Overhang,
            Fit::Shrink => Self::Shrink,
        }
    }
}

/// A block that ended in a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockResult {
    /// Which.
    pub block: u64,
    /// When it began, in nanoseconds of the worker's monotonic clock.
    pub started: u64,
    /// When it ended, likewise.
    pub ended: u64,
    /// How.
    pub outcome: Outcome,
}

/// How a block ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// Well.
    Done,
    /// Well, with measurements.
    Measured(Stats),
    /// It threw, or was reported as failed. Boxed, because results are many and failures are few.
    Failed(Box<ErrorReport>),
    /// The worker's watchdog saw it past its deadline.
    TimedOut,
}

/// What a worker measured around a block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Elapsed seconds.
    pub wall_seconds: f64,
    /// User and system seconds; NaN where they can't be told apart from another block's.
    pub cpu_seconds: f64,
    /// Peak resident memory in bytes; 0 where unknown.
    pub peak_rss_bytes: u64,
    /// Bytes read; 0 where unknown.
    pub io_read_bytes: u64,
    /// Bytes written; 0 where unknown.
    pub io_write_bytes: u64,
}

/// An error as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// The class.
    pub name: String,
    /// The message.
    pub message: String,
    /// The stack.
    pub stack: Option<String>,
    /// Causes and further fields, as JSON.
    pub details: Option<String>,
}

/// Why a worker is sent home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShutdownReason {
    /// Nothing is left to do for its task.
    TaskFinished,
    /// The run is over.
    RunFinished,
    /// Others hold all that is left of its task.
    Idle,
    /// Another task needs the resources it occupies.
    ResourcesNeeded,
    /// Its block failed and the task restarts workers on errors.
    BlockFailed,
    /// The run was interrupted.
    Interrupted,
    /// The run ended with an error or reached its failure limit.
    RunStopped,
    /// It came back too late, or was never known.
    Forgotten,
    /// There is no such task.
    UnknownTask,
}

/// Why the driver closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CloseReason {
    /// Nothing was heard of the worker for too long.
    Silent,
    /// A block ran past its deadline.
    TimedOut,
    /// The worker didn't leave when told to.
    DidNotLeave,
    /// It didn't answer a retraction.
    NoAnswer,
    /// It came back on another connection.
    Replaced,
    /// It sent what can't be understood or isn't allowed.
    Malformed,
}

/// Opaque bytes. On the wire: a count, then the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Raw;
        impl serde::de::Visitor<'_> for Raw {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Raw)
    }
}
